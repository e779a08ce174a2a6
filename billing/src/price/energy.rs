//! Energy: from what a device drew to what was bought, what it costs and what it emitted. Without a price it is shown at
//! price 0.

use super::Span;
use super::selector::exactness;
use crate::fixed;
use crate::glob;
use crate::money::{Exact, UnitPrice};

/// A PUE of 1, as [`Energy::pue_e4`] counts it.
const PUE_ONE: i128 = 10_000;
/// Millijoules in a kilowatt-hour.
const MJ_PER_KWH: i128 = 3_600_000_000;

/// An `[[energy]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Energy {
    /// Unique name.
    pub id: String,
    /// Cluster, exact or with `*`.
    pub cluster: String,
    /// Price of a kilowatt-hour; `None` where energy is shown and not charged.
    pub per_kwh: Option<UnitPrice>,
    /// Power usage effectiveness, in 1e-4: what the site draws for each unit that a device draws.
    pub pue_e4: i64,
    /// Milligrams of CO2 equivalent for each kilowatt-hour; `None` where it isn't known.
    pub mg_co2e_per_kwh: Option<i64>,
    /// When it holds.
    pub span: Span,
}

impl Energy {
    /// What the site drew for a device's millijoules, in 1e-9 kWh, half-even.
    pub fn nano_kwh(&self, energy_mj: i64) -> i64 {
        let drawn = i128::from(energy_mj) * i128::from(self.pue_e4) * 1_000_000_000;
        let nano = fixed::divide(drawn, PUE_ONE * MJ_PER_KWH);
        i64::try_from(nano).expect("a period's energy is below 9e9 kWh")
    }

    /// The price of a kilowatt-hour: 0 where energy is only shown.
    pub fn price(&self) -> UnitPrice {
        self.per_kwh.unwrap_or(UnitPrice(0))
    }

    /// The exact cost of 1e-9 kWh.
    pub fn cost(&self, nano_kwh: i64) -> Exact {
        Exact(i128::from(nano_kwh) * i128::from(self.price().0))
    }

    /// Milligrams of CO2 equivalent, half-even; `None` where it isn't known.
    pub fn mg_co2e(&self, nano_kwh: i64) -> Option<i64> {
        let mg = fixed::divide(i128::from(nano_kwh) * i128::from(self.mg_co2e_per_kwh?), 1_000_000_000);
        Some(i64::try_from(mg).expect("a period's emissions are below 9e15 g"))
    }

    /// What it holds for, for people.
    pub fn scope(&self) -> String {
        format!("cluster {:?}", self.cluster)
    }

    /// For people: `0.30 per kWh, PUE 1.25, 380 g CO2e per kWh`.
    pub fn describe(&self) -> String {
        let grams = self.mg_co2e_per_kwh.map(|mg| format!(", {} g CO2e per kWh", fixed::show(mg, 3)));
        let pue = fixed::show(self.pue_e4, 4);
        format!("{} per kWh, PUE {pue}{}", self.price(), grams.unwrap_or_default())
    }
}

/// What holds of a cluster at an instant: of several, the most exact name.
pub(super) fn of<'a>(all: &'a [Energy], cluster: &str, at_ms: i64) -> Option<&'a Energy> {
    let fitting = all.iter().filter(|e| e.span.holds_at(at_ms) && glob::fits(&e.cluster, cluster));
    fitting.max_by_key(|e| exactness(&e.cluster))
}
