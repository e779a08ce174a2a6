//! Kubernetes quantities (`80Gi`, `500m`, `1e3`) as exact integers.

/// Thousandths of the quantity's unit; `None` where it isn't one or isn't whole in thousandths.
pub fn milli(text: &str) -> Option<u128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let digits: u128 = format!("{whole}{part}").parse().ok()?;
    let below = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let (times, over) = factor(suffix)?;
    let over = over.checked_mul(below)?;
    let up = digits.checked_mul(times)?.checked_mul(1000)?;
    (up % over == 0).then_some(up / over)
}

/// What a suffix multiplies and divides by.
fn factor(suffix: &str) -> Option<(u128, u128)> {
    let binary = |power| Some((1u128 << (10 * power), 1));
    let decimal = |power: u32| Some((10u128.pow(power), 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1_000)),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => decimal(suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|power| *power <= 18)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        let cases = [
            ("80Gi", Some(80 * 1024 * 1024 * 1024 * 1000)),
            ("1.5Gi", Some(1536 * 1024 * 1024 * 1000)),
            ("500m", Some(500)),
            ("2", Some(2000)),
            ("1e3", Some(1_000_000)),
            ("1E", Some(1_000_000_000_000_000_000_000)),
            ("0.1m", None),
            ("", None),
            ("Gi", None),
            ("1x", None),
        ];
        for (text, want) in cases {
            assert_eq!(milli(text), want, "{text}");
        }
    }
}
