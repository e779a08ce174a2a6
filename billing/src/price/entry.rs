//! One price: of what, for whom, how much, and from when to when.

use super::selector::Selectors;
use super::tiers::{TierMode, Tiers};
use super::{Purchase, Span};
use crate::charge::Unit;
use crate::fixed;
use crate::money::{Currency, UnitPrice};

/// A `[[price]]` or `[[purchase]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceEntry {
    /// Unique name of the entry; lines and errors point to it.
    pub id: String,
    /// NVML product name, exact or with `*`.
    pub model: String,
    /// What it asks for besides the model.
    pub selectors: Selectors,
    /// What the price is the price of one of.
    pub per: Per,
    /// The price, or the prices that fall with quantity.
    pub tiers: Tiers,
    /// Currency of the price; the service's where it says none.
    pub currency: Option<Currency>,
    /// What the price was derived from, where it is that of a bought device.
    pub purchase: Option<Purchase>,
    /// Whether someone confirmed that it lies far from the last.
    pub jump_confirmed: bool,
    /// When it holds.
    pub span: Span,
}

/// What a price is the price of one of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Per {
    /// An hour of a whole device.
    GpuHour,
    /// An hour of one MIG instance of the entry's profiles.
    InstanceHour,
    /// A GiB of device memory for an hour.
    GibHour,
    /// An hour of a whole device, in service units of this name.
    ServiceUnits(String),
}

/// What is measured for a price: a basis charges one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Device or instance time.
    Time,
    /// Device memory over time.
    Memory,
}

impl Per {
    /// What is measured for it.
    pub fn measure(&self) -> Measure {
        match self {
            Per::GibHour => Measure::Memory,
            Per::GpuHour | Per::InstanceHour | Per::ServiceUnits(_) => Measure::Time,
        }
    }

    /// What a line of it counts.
    pub fn unit(&self) -> Unit {
        match self {
            Per::GpuHour | Per::ServiceUnits(_) => Unit::GpuHour,
            Per::InstanceHour => Unit::InstanceHour,
            Per::GibHour => Unit::GibHour,
        }
    }
}

impl PriceEntry {
    /// Whether the price holds at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.span.holds_at(at_ms)
    }

    /// Whether it is a list price: of nobody's own.
    pub fn is_list(&self) -> bool {
        self.selectors.tenant.is_none()
    }

    /// Price of the first unit, as written: in its own currency, or in service units.
    pub fn first_price(&self) -> UnitPrice {
        self.tiers.tier(0).price
    }

    /// What it is a price of, for people: `model "NVIDIA H100*", qos "low"`.
    pub fn scope(&self) -> String {
        let of = if self.per.measure() == Measure::Memory { "memory of model" } else { "model" };
        format!("{of} {:?}{}", self.model, self.selectors)
    }

    /// Whether something could be asked that both answer equally well.
    pub(super) fn could_tie(&self, other: &PriceEntry) -> bool {
        self.model == other.model
            && self.per.measure() == other.per.measure()
            && self.selectors.could_tie(&other.selectors)
    }

    /// How the price was derived, where it is that of a bought device.
    pub fn derivation(&self) -> Option<String> {
        self.purchase.as_ref().map(|purchase| purchase.describe(self.first_price()))
    }

    /// The price for people: `3.50 EUR per GPU-hour`, or every tier of it.
    pub fn describe(&self) -> String {
        let one = match &self.per {
            Per::GpuHour => "per GPU-hour".to_string(),
            Per::InstanceHour => "per instance-hour".to_string(),
            Per::GibHour => "per GiB-hour".to_string(),
            Per::ServiceUnits(unit) => format!("{unit} per GPU-hour"),
        };
        let currency = self.currency.as_ref().map(|c| format!(" {}", c.code())).unwrap_or_default();
        let tier = |tier: &super::Tier| match tier.up_to_nano {
            Some(nano) => format!("{}{currency} up to {}", tier.price, fixed::show(nano, 9)),
            None if self.tiers.is_flat() => format!("{}{currency}", tier.price),
            None => format!("{}{currency} above", tier.price),
        };
        let tiers = self.tiers.tiers.iter().map(tier).collect::<Vec<_>>().join(", ");
        let mode = match self.tiers.mode {
            _ if self.tiers.is_flat() => "",
            TierMode::Graduated => ", graduated",
            TierMode::Volume => ", by volume",
        };
        format!("{tiers} {one}{mode}")
    }
}
