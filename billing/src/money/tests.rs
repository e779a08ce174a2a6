use super::*;
use proptest::prelude::*;

fn usd() -> Currency {
    Currency::parse("USD").expect("USD is a currency")
}

#[test]
fn prices_are_read_exactly_or_refused_with_a_remedy() {
    for (text, want) in [
        ("3.50", Ok(3_500_000)),
        ("0", Ok(0)),
        ("0.000001", Ok(1)),
        ("12", Ok(12_000_000)),
        ("", Err("is not a price")),
        (".5", Err("is not a price")),
        ("5.", Err("is not a price")),
        ("-1", Err("is not a price")),
        ("1e3", Err("is not a price")),
        ("3,50", Err("is not a price")),
        ("1.0000001", Err("round it to 6")),
        ("1000000001", Err("check the decimal point")),
        ("99999999999999999999", Err("check the decimal point")),
    ] {
        match (UnitPrice::parse(text), want) {
            (Ok(price), Ok(micros)) => assert_eq!(price.0, micros, "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }
}

#[test]
fn a_tie_goes_to_the_even_unit() {
    let half_cent = 5_000_000_000_000i128;
    for (halves, cents) in [(1, 0), (3, 2), (5, 2), (7, 4), (-1, 0), (-3, -2), (2, 1)] {
        assert_eq!(Exact(half_cent * halves).round_half_even(&usd()), Amount(cents), "{halves} half cents");
    }
}

#[test]
fn amounts_are_shown_in_the_currency_s_own_decimals() {
    let show = |code: &str, minor: i64| Currency::parse(code).expect("a currency").show(Amount(minor));
    assert_eq!(show("USD", 105_000), "1,050.00");
    assert_eq!(show("USD", -123_456_789), "-1,234,567.89");
    assert_eq!(show("JPY", 1_234_567), "1,234,567");
    assert_eq!(show("KWD", 1_005), "1.005");
    assert_eq!(usd().decimal(Amount(-100_005)), "-1000.05");
    assert!(
        Currency::parse("usd").is_err() && Currency::parse("XXX").is_err() && Currency::parse("").is_err()
    );
    assert_eq!(UnitPrice(3_500_000).to_string(), "3.50");
    assert_eq!(UnitPrice(125).to_string(), "0.000125");
}

proptest! {
    /// Rounding moves a line by at most half a unit, whatever the currency's decimals.
    #[test]
    fn rounding_is_within_half_a_unit(cost in -1i128 << 80..1i128 << 80, code in prop::sample::select(vec!["USD", "JPY", "KWD"])) {
        let currency = Currency::parse(code).expect("a currency");
        let back = cost.clamp(-(1 << 70), 1 << 70);
        let off = Exact(back).round_half_even(&currency).exact(&currency).0 - back;
        prop_assert!(off.abs() * 2 <= unit_of(&currency));
    }

    #[test]
    fn a_price_reads_back_as_it_prints(micros in 0i64..UNIT_PRICE_MAX * 1_000_000) {
        prop_assert_eq!(UnitPrice::parse(&UnitPrice(micros).to_string()), Ok(UnitPrice(micros)));
    }
}
