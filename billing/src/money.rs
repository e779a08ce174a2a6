//! Money as integers: a unit price has 6 decimals, a product is exact at 15, and a posted amount is whole currency units.
//!
//! The only rounding is [`Exact::round_half_even`], and it happens once, on a posted statement line.

use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};

mod currency;
pub use currency::Currency;
pub(crate) use currency::group_thousands;

/// Decimals of an [`Exact`]: 9 of the quantity and 6 of the price.
const EXACT_DECIMALS: u32 = 15;

/// The dearest GPU-hour that a price book may hold, in whole currency units: far above any price in any currency, and
/// far below where a month of a fleet could leave 128 bits.
pub const UNIT_PRICE_MAX: i64 = 1_000_000_000;

/// A price of one GPU-hour in 1e-6 currency units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitPrice(pub i64);

/// Quantity times price, exact, in 1e-15 currency units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Exact(pub i128);

/// A posted amount in the currency's smallest unit (cents for USD, yen for JPY).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(pub i64);

/// Why a text isn't money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not an ISO 4217 code.
    #[error(
        "{0:?} is not an ISO 4217 currency code: write three capital letters, such as \"USD\" or \"EUR\""
    )]
    UnknownCurrency(String),
    /// Not a decimal number.
    #[error("{0:?} is not a price: write digits with at most one point, such as \"3.50\"")]
    NotDecimal(String),
    /// More than 6 decimals.
    #[error("{0:?} has more than 6 decimals: round it to 6, so that every product with it is exact")]
    TooFine(String),
    /// Above [`UNIT_PRICE_MAX`].
    #[error("{0:?} is above {UNIT_PRICE_MAX}, the dearest GPU-hour taken: check the decimal point")]
    TooLarge(String),
}

impl UnitPrice {
    /// From a decimal such as `3.50`: not negative, at most 6 decimals.
    ///
    /// # Errors
    /// Anything else, in words that name the remedy.
    pub fn parse(text: &str) -> Result<Self, MoneyError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
            return Err(MoneyError::NotDecimal(text.into()));
        }
        if fraction.len() > 6 {
            return Err(MoneyError::TooFine(text.into()));
        }
        let units: i64 = whole.parse().map_err(|_| MoneyError::TooLarge(text.into()))?;
        if units > UNIT_PRICE_MAX {
            return Err(MoneyError::TooLarge(text.into()));
        }
        let micros: i64 = format!("{fraction:0<6}").parse().expect("six digits are a number");
        Ok(Self(units * 1_000_000 + micros))
    }
}

/// At least 2 decimals, at most 6: `3.50`, `0.000125`.
impl std::fmt::Display for UnitPrice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = format!("{:06}", self.0.unsigned_abs() % 1_000_000);
        let trimmed = decimals.trim_end_matches('0');
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{trimmed:0<2}", self.0.unsigned_abs() / 1_000_000)
    }
}

impl Exact {
    /// Nothing.
    pub const ZERO: Exact = Exact(0);

    /// The exact price of a quantity.
    ///
    /// ```
    /// use billing::money::{Exact, UnitPrice};
    /// use schema::units::NanoGpuHours;
    /// let cost = Exact::of(NanoGpuHours(7_142_857_143), UnitPrice::parse("3.36").expect("a price"));
    /// assert_eq!(cost.to_string(), "24.000000000480000");
    /// ```
    pub fn of(quantity: NanoGpuHours, price: UnitPrice) -> Self {
        Self(i128::from(quantity.0) * i128::from(price.0))
    }

    /// The exact price of a quantity of anything.
    pub fn times(quantity: crate::charge::Quantity, price: UnitPrice) -> Self {
        Self(i128::from(quantity.nano) * i128::from(price.0))
    }

    /// Rounded to the currency's smallest unit; a tie goes to the even unit, so that many ties don't drift one way.
    pub fn round_half_even(self, currency: &Currency) -> Amount {
        let units = crate::fixed::divide(self.0, unit_of(currency));
        Amount(i64::try_from(units).expect("an amount is below 9e18 of the smallest unit"))
    }
}

impl Amount {
    /// The same amount as an exact one, to show a difference from it.
    pub fn exact(self, currency: &Currency) -> Exact {
        Exact(i128::from(self.0) * unit_of(currency))
    }
}

/// The currency's smallest unit in 1e-15.
fn unit_of(currency: &Currency) -> i128 {
    10i128.pow(EXACT_DECIMALS - currency.minor_digits())
}

impl std::ops::Add for Exact {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::Sub for Exact {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl std::iter::Sum for Exact {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, |a, b| a + b)
    }
}

impl std::ops::Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), |a, b| a + b)
    }
}

/// All 15 decimals.
impl std::fmt::Display for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let unit = 10u128.pow(EXACT_DECIMALS);
        write!(f, "{sign}{}.{:015}", self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit)
    }
}

/// As a string: a JSON number would be read as a float by most readers.
impl Serialize for Exact {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// As it is written: all 15 decimals.
impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let read = || {
            let (sign, digits) = text.strip_prefix('-').map_or((1, text.as_str()), |digits| (-1, digits));
            let (whole, decimals) = digits.split_once('.')?;
            let plain = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
            let fits = plain(whole) && plain(decimals) && decimals.len() == EXACT_DECIMALS as usize;
            let value: i128 = fits.then(|| format!("{whole}{decimals}").parse().ok()).flatten()?;
            Some(Self(sign * value))
        };
        read().ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no amount of 15 decimals")))
    }
}

impl std::ops::Neg for Exact {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl std::ops::Neg for Amount {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl std::ops::Sub for Amount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests;
