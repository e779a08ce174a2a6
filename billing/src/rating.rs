//! Rating: usage x price book x tenants -> lines. Nothing is rounded but each line's posted amount, once.
//!
//! A line is everything of one tenant that has one [`LineKey`]: the same thing at the same price, known equally well.
//! The key is also how a line is opened again: [`line_of`] says of any row of usage which tenant and line it went to.

use crate::money::{Amount, Currency, Exact, UnitPrice};
use crate::price::{Lookup, PriceBook, Unpriced};
use crate::tenant::{Ended, MatchedBy, Site, TenantId, Tenants};
use crate::usage::{DeviceTotal, UsageTotal};
use schema::id::WorkloadId;
use schema::owner::Owner;
use schema::share::Share;
use schema::units::NanoGpuHours;
use schema::window::Window;
use schema::wire::{Quality, Sharing};
use std::collections::{BTreeMap, BTreeSet};

mod platform;
pub use platform::{PlatformKind, PlatformLine};

/// Owners by workload, as the nodes reported them.
pub type Owners = BTreeMap<WorkloadId, Owner>;

/// What makes two rows of usage one line; its order is the order of lines on a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineKey {
    /// NVML product name.
    pub model: String,
    /// How the device was divided.
    pub sharing: Sharing,
    /// MIG profile, or empty.
    pub profile: String,
    /// Share of the device held.
    pub share: Share,
    /// Quality of the held time.
    pub quality: Quality,
    /// Quality of the busy time.
    pub busy_quality: Quality,
    /// Held on a scheduler's record alone, while the collector was not watching.
    pub unwatched: bool,
    /// On a line of `unattributed`: the tenant that it would be, had that not ended.
    pub ended: Option<Ended>,
    /// The price, or why there is none.
    pub price: LinePrice,
}

/// The price of a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinePrice {
    /// A price of the book.
    Priced {
        /// Since when it holds, Unix milliseconds: an older price comes first.
        from_ms: i64,
        /// Id of the entry.
        entry: String,
        /// Price of a device for an hour.
        per_gpu_hour: UnitPrice,
    },
    /// The book names no such model.
    UnknownModel,
    /// The book names the model, but no price holds at that time.
    NotAtThisTime,
}

/// A line of a tenant's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Position on the statement from 1: `L1`.
    pub number: u32,
    /// What it is.
    pub key: LineKey,
    /// From the first to the last segment in it.
    pub span: Window,
    /// Time for which the share was held, milliseconds (device-, instance- or slot-time).
    pub natural_ms: i64,
    /// The part of it that the collector saw, milliseconds.
    pub observed_ms: i64,
    /// Device time held: the quantity that is priced.
    pub held: NanoGpuHours,
    /// Device time known to be busy, at most `held` of it counted as such (see [`Line::busy_held`]).
    pub busy: NanoGpuHours,
    /// Held device time whose use is unknown.
    pub unknown: NanoGpuHours,
    /// Energy, millijoules; shown at price 0.
    pub energy_mj: i64,
    /// `held` times the price, exact; `None` where there is no price.
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
    /// What decided that usage was this tenant's.
    pub matched_by: BTreeSet<MatchedBy>,
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

/// Why usage can't be rated. Each is a defect upstream; a missing price is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// A price or rule changes inside a segment.
    #[error("a segment of {device} from {start_ms} to {end_ms} (Unix ms) crosses a change of {what} at {change_ms}: close its hour again, so that it is cut there", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    CrossesChange {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
        /// `prices` or `mapping rules`.
        what: &'static str,
        /// When it changes.
        change_ms: i64,
    },
    /// The two ledgers of a device don't sum.
    #[error("device {device} does not add up from {start_ms} to {end_ms} (Unix ms): close its hours again and report the defect", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    DoesNotAddUp {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
    },
    /// Workloads' held time and the devices' differ.
    #[error(
        "workloads hold {workloads} GPU-hours of device {device} and the device says {devices}: close its hours again and report the defect"
    )]
    HeldDiffers {
        /// Device UUID.
        device: String,
        /// Sum over the rows of usage.
        workloads: NanoGpuHours,
        /// Sum over the rows of the device.
        devices: NanoGpuHours,
    },
}

impl LinePrice {
    /// The unit price, where there is one.
    pub fn unit(&self) -> Option<UnitPrice> {
        match self {
            LinePrice::Priced { per_gpu_hour, .. } => Some(*per_gpu_hour),
            LinePrice::UnknownModel | LinePrice::NotAtThisTime => None,
        }
    }

    /// The id of the price book's entry, where there is one.
    pub fn entry(&self) -> Option<&str> {
        match self {
            LinePrice::Priced { entry, .. } => Some(entry),
            LinePrice::UnknownModel | LinePrice::NotAtThisTime => None,
        }
    }

    /// The exact cost of a quantity, where there is a price.
    pub fn cost_of(&self, quantity: NanoGpuHours) -> Option<Exact> {
        self.unit().map(|price| Exact::of(quantity, price))
    }
}

impl Line {
    /// Held time whose use is unknown; more unknown than held (used without holding) isn't charged and doesn't count.
    pub fn unknown_held(&self) -> NanoGpuHours {
        self.unknown.min(self.held)
    }

    /// Held time that was busy; busy time above what was held is another's capacity and doesn't count here.
    pub fn busy_held(&self) -> NanoGpuHours {
        self.busy.min(self.held - self.unknown_held())
    }

    /// Held time that was not busy: waste.
    pub fn not_busy_held(&self) -> NanoGpuHours {
        self.held - self.unknown_held() - self.busy_held()
    }

    /// The part of the line's time that the collector saw, in whole percent, rounded down so that 100 means all of it.
    pub fn observed_percent(&self) -> i64 {
        if self.natural_ms == 0 { 100 } else { self.observed_ms * 100 / self.natural_ms }
    }
}

/// Which tenant and line a row of usage goes to, and what decided.
pub fn line_of(
    row: &UsageTotal,
    owners: &Owners,
    tenants: &Tenants,
    prices: &PriceBook,
) -> (crate::tenant::Resolved, LineKey) {
    let resolved = tenants.resolve(owners.get(&row.workload), Site::of(row), row.segment.start_ms);
    let ended = match &resolved.by {
        MatchedBy::TenantEnded(ended) => Some(ended.clone()),
        _ => None,
    };
    let key = LineKey {
        model: row.model.clone(),
        sharing: row.sharing,
        profile: row.profile.clone(),
        share: row.share,
        quality: row.quality,
        busy_quality: row.busy_quality,
        unwatched: row.natural_ms > 0 && row.observed_ms == 0,
        ended,
        price: price_at(prices, &row.model, row.segment.start_ms),
    };
    (resolved, key)
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
    tenants: &Tenants,
    prices: &PriceBook,
    currency: &Currency,
) -> Result<Rated, RateError> {
    check_segments(usage, devices, tenants, prices)?;
    check_ledgers(usage, devices)?;
    let mut by_tenant: BTreeMap<TenantId, Gathered> = BTreeMap::new();
    for row in usage {
        let (resolved, key) = line_of(row, owners, tenants, prices);
        by_tenant.entry(resolved.tenant).or_default().take(row, key, resolved.by);
    }
    let tenants = by_tenant.into_iter().map(|(id, gathered)| (id.clone(), gathered.finish(id, currency)));
    Ok(Rated {
        currency: currency.clone(),
        tenants: tenants.collect(),
        platform: platform::lines(devices, prices, currency),
    })
}

/// What the book says about a model at an instant, as a line carries it.
fn price_at(prices: &PriceBook, model: &str, at_ms: i64) -> LinePrice {
    match prices.lookup(model, at_ms) {
        Lookup::Priced(entry) => LinePrice::Priced {
            from_ms: entry.span.from_ms,
            entry: entry.id.clone(),
            per_gpu_hour: entry.first_price(),
        },
        Lookup::Unpriced(Unpriced::UnknownModel) => LinePrice::UnknownModel,
        Lookup::Unpriced(_) => LinePrice::NotAtThisTime,
    }
}

/// No change lies inside a segment.
fn check_segments(
    usage: &[UsageTotal],
    devices: &[DeviceTotal],
    tenants: &Tenants,
    prices: &PriceBook,
) -> Result<(), RateError> {
    let always = Window::new(i64::MIN, i64::MAX);
    let changes =
        [("prices", prices.change_instants(always)), ("mapping rules", tenants.change_instants(always))];
    let of_usage = usage.iter().map(|row| (&row.device, row.segment));
    let of_devices = devices.iter().map(|row| (&row.device, row.segment));
    for (device, segment) in of_usage.chain(of_devices) {
        for (what, instants) in &changes {
            let next = instants.partition_point(|at| *at <= segment.start_ms);
            if let Some(change_ms) = instants.get(next).filter(|at| **at < segment.end_ms) {
                return Err(RateError::CrossesChange {
                    device: device.clone(),
                    segment,
                    what,
                    change_ms: *change_ms,
                });
            }
        }
    }
    Ok(())
}

/// Each device adds up, and workloads hold of it what it says they hold.
fn check_ledgers(usage: &[UsageTotal], devices: &[DeviceTotal]) -> Result<(), RateError> {
    let mut held: BTreeMap<&str, (NanoGpuHours, NanoGpuHours)> = BTreeMap::new();
    for row in devices {
        if !row.adds_up() {
            return Err(RateError::DoesNotAddUp { device: row.device.clone(), segment: row.segment });
        }
        let sums = held.entry(&row.device).or_default();
        sums.1 = sums.1 + row.held;
    }
    for row in usage {
        let sums = held.entry(&row.device).or_default();
        sums.0 = sums.0 + row.held;
    }
    match held.into_iter().find(|(_, (workloads, devices))| workloads != devices) {
        Some((device, (workloads, devices))) => {
            Err(RateError::HeldDiffers { device: device.into(), workloads, devices })
        }
        None => Ok(()),
    }
}

/// A tenant's sums while rows come in.
#[derive(Default)]
struct Gathered {
    lines: BTreeMap<LineKey, Line>,
    held_by_device: BTreeMap<String, NanoGpuHours>,
    matched_by: BTreeSet<MatchedBy>,
}

impl Gathered {
    fn take(&mut self, row: &UsageTotal, key: LineKey, by: MatchedBy) {
        self.matched_by.insert(by);
        let held = self.held_by_device.entry(row.device.clone()).or_default();
        *held = *held + row.held;
        let line = self.lines.entry(key).or_insert_with_key(|key| Line {
            number: 0,
            key: key.clone(),
            span: row.segment,
            natural_ms: 0,
            observed_ms: 0,
            held: NanoGpuHours(0),
            busy: NanoGpuHours(0),
            unknown: NanoGpuHours(0),
            energy_mj: 0,
            exact: None,
            amount: None,
        });
        line.span.start_ms = line.span.start_ms.min(row.segment.start_ms);
        line.span.end_ms = line.span.end_ms.max(row.segment.end_ms);
        line.natural_ms += row.natural_ms;
        line.observed_ms += row.observed_ms;
        line.held = line.held + row.held;
        line.busy = line.busy + row.busy;
        line.unknown = line.unknown + row.unknown;
        line.energy_mj += row.energy_mj;
    }

    /// Numbers the lines and rounds each once.
    fn finish(self, tenant: TenantId, currency: &Currency) -> TenantUsage {
        let numbered = self.lines.into_values().zip(1..).map(|(mut line, number)| {
            line.number = number;
            line.exact = line.key.price.cost_of(line.held);
            line.amount = line.exact.map(|exact| exact.round_half_even(currency));
            line
        });
        TenantUsage {
            tenant,
            lines: numbered.collect(),
            held_by_device: self.held_by_device,
            matched_by: self.matched_by,
        }
    }
}
