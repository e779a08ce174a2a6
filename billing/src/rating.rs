//! Rating: usage x price book x tenants -> lines. Nothing is rounded but each line's posted amount, once.
//!
//! A line is everything of one tenant that has one [`LineKey`]: the same thing at the same price, known equally well.
//! The key is also how a line is opened again: [`Rules::line_of`] says of any row of usage which tenant and line it
//! went to. Rows are summed by tenant and key ([`Sums`]), in any order and grouping; sums become lines at the end.

use crate::charge::Quantity;
use crate::money::{Amount, Currency, Exact};
use crate::tenant::TenantId;
use crate::usage::{DeviceTotal, UsageTotal};
use schema::id::WorkloadId;
use schema::owner::Owner;
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod check;
mod key;
mod platform;
mod sums;
pub use check::{Balance, Changes, RateError};
pub use key::{LineBasis, LineKey, LinePrice, Rules};
pub use platform::{PlatformKind, PlatformLine};
pub use sums::Sums;

/// The method that rates: part of what a statement was made with. It changes whenever the same usage, prices and tenants
/// could give other lines.
pub const METHOD: &str = "m1";

/// Owners by workload, as the nodes reported them.
pub type Owners = BTreeMap<WorkloadId, Owner>;

/// A line of a tenant's statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Position on the statement from 1: `L1`.
    pub number: u32,
    /// What it is.
    pub key: LineKey,
    /// What was summed.
    #[serde(flatten)]
    pub sums: Sums,
    /// What the price is multiplied with.
    pub quantity: Quantity,
    /// `quantity` times the price, exact; `None` where there is no price.
    pub exact: Option<Exact>,
    /// `exact` rounded once to the currency's unit.
    pub amount: Option<Amount>,
}

/// A tenant's part of the usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantUsage {
    /// Whose.
    pub tenant: TenantId,
    /// The lines, in the order of their keys.
    pub lines: Vec<Line>,
    /// Device time held, by device UUID.
    pub held_by_device: BTreeMap<String, NanoGpuHours>,
}

/// Everything rated: tenants' usage and what the platform keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rated {
    /// The currency of all amounts.
    pub currency: Currency,
    /// Tenants with usage, by id; `unattributed` is among them where there is such use.
    pub tenants: BTreeMap<TenantId, TenantUsage>,
    /// Capacity that nobody held, at its price.
    pub platform: Vec<PlatformLine>,
}

/// A tenant's sums while rows come in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gathered {
    /// By line.
    pub lines: BTreeMap<LineKey, Sums>,
    /// Device time held, by device UUID.
    pub held_by_device: BTreeMap<String, NanoGpuHours>,
}

impl Line {
    /// A line of what was summed, rounded once.
    pub fn new(number: u32, key: LineKey, sums: Sums, currency: &Currency) -> Self {
        let exact = key.price.cost_of(&sums);
        let amount = exact.map(|exact| exact.round_half_even(currency));
        Self { number, quantity: key.price.quantity(&sums), key, sums, exact, amount }
    }

    /// Held time whose use is unknown; more unknown than held (used without holding) isn't charged and doesn't count.
    pub fn unknown_held(&self) -> NanoGpuHours {
        self.sums.unknown.min(self.sums.held)
    }

    /// Held time that was busy; busy time above what was held is another's capacity and doesn't count here.
    pub fn busy_held(&self) -> NanoGpuHours {
        self.sums.busy.min(self.sums.held - self.unknown_held())
    }

    /// Held time that was not busy: waste.
    pub fn not_busy_held(&self) -> NanoGpuHours {
        self.sums.held - self.unknown_held() - self.busy_held()
    }

    /// The part of the line's time that the collector saw, in whole percent, rounded down so that 100 means all of it.
    pub fn observed_percent(&self) -> i64 {
        if self.sums.natural_ms == 0 { 100 } else { self.sums.observed_ms * 100 / self.sums.natural_ms }
    }
}

impl Gathered {
    /// Adds sums of a line on a device.
    pub fn take(&mut self, device: &str, key: LineKey, sums: &Sums) {
        self.hold(device, sums.held);
        self.add(key, sums);
    }

    /// Adds sums of a line.
    pub fn add(&mut self, key: LineKey, sums: &Sums) {
        self.lines.entry(key).and_modify(|known| known.add(sums)).or_insert(*sums);
    }

    /// Adds device time held.
    pub fn hold(&mut self, device: &str, held: NanoGpuHours) {
        match self.held_by_device.get_mut(device) {
            Some(known) => *known = *known + held,
            None => {
                self.held_by_device.insert(device.into(), held);
            }
        }
    }

    /// Numbers the lines and rounds each once.
    pub fn finish(self, tenant: TenantId, currency: &Currency) -> TenantUsage {
        let numbered = self
            .lines
            .into_iter()
            .zip(1..)
            .map(|((key, sums), number)| Line::new(number, key, sums, currency));
        TenantUsage { tenant, lines: numbered.collect(), held_by_device: self.held_by_device }
    }
}

impl Rated {
    /// From each tenant's sums and the devices. The parts are what [`rate`] makes of rows; a service that keeps sums
    /// comes here directly.
    pub fn of(
        tenants: BTreeMap<TenantId, Gathered>,
        devices: &[DeviceTotal],
        rules: Rules<'_>,
        currency: &Currency,
    ) -> Self {
        let tenants = tenants.into_iter().map(|(id, gathered)| (id.clone(), gathered.finish(id, currency)));
        Self {
            currency: currency.clone(),
            tenants: tenants.collect(),
            platform: platform::lines(devices, rules, currency),
        }
    }
}

/// Rates a period. `usage` and `devices` may be hours or longer sums in any order, as long as no price or mapping rule
/// changes inside a segment; the result is the same.
///
/// # Errors
/// A segment that crosses a change, or ledgers that don't add up: defects upstream, never a missing price.
pub fn rate(
    usage: &[UsageTotal],
    devices: &[DeviceTotal],
    owners: &Owners,
    rules: Rules<'_>,
    currency: &Currency,
) -> Result<Rated, RateError> {
    let changes = Changes::of(rules);
    let mut balance = Balance::default();
    for row in devices {
        changes.check(&row.device, row.segment)?;
        balance.device(row)?;
    }
    let mut tenants: BTreeMap<TenantId, Gathered> = BTreeMap::new();
    for row in usage {
        changes.check(&row.device, row.segment)?;
        balance.usage(row);
        let (resolved, key) = rules.line_among(row, owners);
        let sums = Sums::of(row, key.basis);
        tenants.entry(resolved.tenant).or_default().take(&row.device, key, &sums);
    }
    balance.check()?;
    Ok(Rated::of(tenants, devices, rules, currency))
}
