//! Another currency for a posted total: one multiplication, rounded once.

use crate::money::{Amount, Currency};

/// Decimals of a rate.
const RATE_DECIMALS: u32 = 9;

/// What one unit of a currency is in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRate {
    /// The currency that is given.
    pub from: Currency,
    /// The currency that is wanted.
    pub to: Currency,
    /// Price of one unit of `from` in 1e-9 units of `to`; above zero.
    pub nano: i64,
}

/// A posted amount in another currency, half to the even unit. Sums of converted amounts are not the converted sum, so
/// only a total is converted.
pub fn convert(amount: Amount, rate: &UnitRate) -> Amount {
    let scale = |digits: u32| 10i128.pow(digits);
    let product = i128::from(amount.0) * i128::from(rate.nano) * scale(rate.to.minor_digits());
    let unit = scale(RATE_DECIMALS + rate.from.minor_digits());
    let (floor, rest) = (product.div_euclid(unit), product.rem_euclid(unit));
    let up = match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => floor.rem_euclid(2) == 1,
        std::cmp::Ordering::Greater => true,
    };
    Amount(i64::try_from(floor + i128::from(up)).expect("an amount is below 9e18 of the smallest unit"))
}
