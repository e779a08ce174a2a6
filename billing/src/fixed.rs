//! Fixed-point decimals and the one way to round: half to even.

/// A decimal such as `12.5` in units of `10^-decimals`; `None` where the text isn't a plain decimal, is finer, or too
/// large for 18 digits.
pub(crate) fn parse(text: &str, decimals: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let plain = !whole.is_empty() && digits(whole) && digits(fraction) && !text.ends_with('.');
    let fits = fraction.len() <= decimals && whole.len() + decimals <= 18;
    (plain && fits).then(|| format!("{whole}{fraction:0<decimals$}").parse().ok()).flatten()
}

/// A value in units of `10^-decimals` for people: without trailing zeros.
pub(crate) fn show(value: i64, decimals: u32) -> String {
    let unit = 10u64.pow(decimals);
    let (whole, rest) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
    let width = usize::try_from(decimals).expect("a few decimals");
    let text = format!("{whole}.{rest:0width$}");
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `numerator / denominator`, half to even; the denominator is above zero.
pub(crate) fn divide(numerator: i128, denominator: i128) -> i128 {
    assert!(denominator > 0, "a rounding divides by something");
    let (floor, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    let up = match rest.cmp(&(denominator - rest)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => floor.rem_euclid(2) == 1,
        std::cmp::Ordering::Greater => true,
    };
    floor + i128::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_read_and_shown_as_written() {
        for (text, decimals, want) in [
            ("12.5", 4, Some(125_000)),
            ("0", 4, Some(0)),
            ("0.00001", 4, None),
            ("1.", 4, None),
            (".5", 4, None),
            ("-1", 4, None),
            ("1e3", 4, None),
            ("99999999999999", 4, Some(999_999_999_999_990_000)),
            ("999999999999999", 4, None),
        ] {
            assert_eq!(parse(text, decimals), want, "{text}");
        }
        assert_eq!([show(125_000, 4), show(0, 4), show(-5, 1), show(70, 0)], ["12.5", "0", "-0.5", "70"]);
    }

    proptest! {
        #[test]
        fn a_quotient_is_the_nearest_and_even_in_a_tie(n in -1_000_000i128..1_000_000, d in 1i128..1000) {
            let q = divide(n, d);
            let off = (2 * (n - q * d)).abs();
            prop_assert!(off <= d);
            prop_assert!(off < d || q.rem_euclid(2) == 0);
        }
    }
}
