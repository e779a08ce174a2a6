//! Service units: a named unit that GPU-hours are priced in by weights, and that has itself a price.

use super::Span;
use crate::fixed;
use crate::money::{Currency, UnitPrice};

/// One version of a `[[service_unit]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceUnit {
    /// Unique name of the version.
    pub id: String,
    /// What people call the unit: `SU`.
    pub name: String,
    /// Price of one unit.
    pub price: UnitPrice,
    /// Currency of the price; the service's where it says none.
    pub currency: Option<Currency>,
    /// Whether someone confirmed that it lies far from the last.
    pub jump_confirmed: bool,
    /// When it holds.
    pub span: Span,
}

impl ServiceUnit {
    /// What it is the price of, for people.
    pub fn scope(&self) -> String {
        format!("{:?}", self.name)
    }

    /// The price of an hour that costs so many units (6 decimals), half-even at 6 decimals.
    pub fn price_of(&self, units: UnitPrice) -> UnitPrice {
        let micros = fixed::divide(i128::from(units.0) * i128::from(self.price.0), 1_000_000);
        UnitPrice(i64::try_from(micros).expect("the product was checked when the file was read"))
    }
}
