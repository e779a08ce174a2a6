//! The hourly price of a bought device: its price over the hours that it is expected to be in use.

use crate::fixed;
use crate::money::{Currency, UnitPrice};

/// Hours in a month of a device's life: a twelfth of 365 days.
pub const HOURS_PER_MONTH: i64 = 730;
/// A whole, in 1e-4 of a percent.
const WHOLE_E4: i128 = 1_000_000;

/// What a device was bought for, and how long and how much it is expected to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// Price of the device.
    pub price: UnitPrice,
    /// Currency of the price; the service's where it says none.
    pub currency: Option<Currency>,
    /// Months of life.
    pub life_months: i64,
    /// Part of its life that it is expected to be charged for, in 1e-4 of a percent.
    pub utilisation_e4: i64,
}

impl Purchase {
    /// The price of an hour: `price / (life in hours x expected utilisation)`, half-even at 6 decimals.
    pub fn per_gpu_hour(&self) -> UnitPrice {
        let hours_e4 = i128::from(self.life_months * HOURS_PER_MONTH) * i128::from(self.utilisation_e4);
        let micros = fixed::divide(i128::from(self.price.0) * WHOLE_E4, hours_e4);
        UnitPrice(
            i64::try_from(micros).expect("at most the price over a ten-thousandth of a percent of a month"),
        )
    }

    /// How an hour's price comes about, for people.
    pub(super) fn describe(&self, per_gpu_hour: UnitPrice) -> String {
        let currency = self.currency.as_ref().map(|c| format!(" {}", c.code())).unwrap_or_default();
        format!(
            "{}{currency} over {} months of {HOURS_PER_MONTH} h at {} % expected utilisation = {per_gpu_hour} per GPU-hour",
            self.price,
            self.life_months,
            fixed::show(self.utilisation_e4, 4),
        )
    }
}
