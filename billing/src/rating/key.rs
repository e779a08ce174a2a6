//! What makes two rows of usage one line, and the question that finds it for any row.

use super::Owners;
use crate::charge::{Quantity, Unit};
use crate::money::{Exact, UnitPrice};
use crate::price::{Asked, Basis, Measure, PriceBook, Rate, Unpriced, gib_hours_nano};
use crate::rating::{Line, Sums};
use crate::tenant::{Ended, MatchedBy, Resolved, Site, TenantId, Tenants};
use crate::usage::{DeviceTotal, UsageTotal};
use schema::owner::Owner;
use schema::share::Share;
use schema::units::NanoGpuHours;
use schema::wire::{Quality, Sharing};
use serde::{Deserialize, Serialize};

/// What makes two rows of usage one line; its order is the order of lines on a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineKey {
    /// NVML product name.
    pub model: String,
    /// How the device was divided.
    #[serde(with = "as_number")]
    pub sharing: Sharing,
    /// MIG profile, or empty.
    pub profile: String,
    /// Share of the device held.
    pub share: Share,
    /// Quality of the held time.
    #[serde(with = "as_number")]
    pub quality: Quality,
    /// Quality of the busy time.
    #[serde(with = "as_number")]
    pub busy_quality: Quality,
    /// Held on a scheduler's record alone, while the collector was not watching.
    pub unwatched: bool,
    /// On a line of `unattributed`: the tenant that it would be, had that not ended.
    pub ended: Option<Ended>,
    /// What of it is charged.
    pub basis: LineBasis,
    /// The price, or why there is none.
    pub price: LinePrice,
}

/// What of a line's time is charged, and what its tenant's basis asks for: they differ where that needs busy time and it
/// isn't known, because unknown is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct LineBasis {
    /// What is charged.
    pub charged: Basis,
    /// What the price book asks for.
    pub asked: Basis,
}

impl LineBasis {
    /// Of a row: what is asked for, or held where that can't be told.
    fn of(asked: Basis, row: &UsageTotal) -> Self {
        let refused = asked.needs_busy() && (row.unknown.0 != 0 || row.observed_ms < row.natural_ms);
        Self { charged: if refused { Basis::Held } else { asked }, asked }
    }

    /// Whether something else is charged than was asked for.
    pub fn is_refused(self) -> bool {
        self.charged != self.asked
    }

    /// The device time that a row is charged for.
    pub fn time_of(self, row: &UsageTotal) -> NanoGpuHours {
        match self.charged {
            // Hour by hour: the greater of two sums would hide hours that outweigh each other.
            Basis::Max => row.most,
            Basis::Held | Basis::Memory => row.held,
            basis => basis
                .charged(row.held, row.busy, NanoGpuHours(0))
                .expect("a basis that needs busy time is refused where some is unknown"),
        }
    }
}

/// The price of a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinePrice {
    /// A price of the book.
    Priced(Rate),
    /// No price holds.
    Unpriced(Unpriced),
}

impl LinePrice {
    /// The unit price, where there is one.
    pub fn unit(&self) -> Option<UnitPrice> {
        self.rate().map(|rate| rate.price)
    }

    /// The price with what the book says of it, where there is one.
    pub fn rate(&self) -> Option<&Rate> {
        match self {
            LinePrice::Priced(rate) => Some(rate),
            LinePrice::Unpriced(_) => None,
        }
    }

    /// The id of the price book's entry, where there is one.
    pub fn entry(&self) -> Option<&str> {
        self.rate().map(|rate| rate.entry.as_str())
    }

    /// What of the sums is multiplied by the price: device time as charged, instance time or memory.
    pub fn quantity(&self, sums: &Sums) -> Quantity {
        let unit = self.rate().map_or(Unit::GpuHour, |rate| rate.unit);
        let nano = match unit {
            Unit::InstanceHour => hours_nano(sums.natural_ms),
            Unit::GibHour => gib_hours_nano(sums.memory_byte_ms),
            Unit::GpuHour | Unit::KilowattHour | Unit::Month | Unit::Piece => sums.charged.0,
        };
        Quantity { nano, unit }
    }

    /// The exact cost of what was summed, where there is a price.
    pub fn cost_of(&self, sums: &Sums) -> Option<Exact> {
        self.unit().map(|price| Exact::times(self.quantity(sums), price))
    }
}

/// Milliseconds in 1e-9 hours, a tie to the even one.
fn hours_nano(ms: i64) -> i64 {
    // 1e9 / 3.6e6 in lowest terms.
    let nano = crate::fixed::divide(i128::from(ms) * 2_500, 9);
    i64::try_from(nano).expect("a month of a fleet is below 9e9 hours")
}

/// What a row of usage is asked with besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Whose usage is.
    pub tenants: &'a Tenants,
    /// What it costs.
    pub prices: &'a PriceBook,
}

impl Rules<'_> {
    /// Which tenant and line a row of usage goes to, and what decided. `None` for an owner that isn't known.
    pub fn line_of(&self, row: &UsageTotal, owner: Option<&Owner>) -> (Resolved, LineKey) {
        let at_ms = row.segment.start_ms;
        let resolved = self.tenants.resolve(owner, Site::of(row), at_ms);
        let ended = match &resolved.by {
            MatchedBy::TenantEnded(ended) => Some(ended.clone()),
            _ => None,
        };
        let path = self.tenants.ancestors(&resolved.tenant, at_ms);
        let asked = asked(row, owner, &path);
        let basis = LineBasis::of(self.prices.basis(row.sharing, &path, at_ms), row);
        let key = LineKey {
            model: row.model.clone(),
            sharing: row.sharing,
            profile: row.profile.clone(),
            share: row.share,
            quality: row.quality,
            busy_quality: row.busy_quality,
            unwatched: row.natural_ms > 0 && row.observed_ms == 0,
            ended,
            basis,
            price: self.price_of(row, &resolved.tenant, &asked, basis),
        };
        (resolved, key)
    }

    /// As [`Rules::line_of`], with the owner looked up.
    pub fn line_among(&self, row: &UsageTotal, owners: &Owners) -> (Resolved, LineKey) {
        self.line_of(row, owners.get(&row.workload))
    }

    /// How the price of a tenant's line comes about for a row of it, a step a line; none where the price isn't one of the
    /// price book.
    pub fn derivation(
        &self,
        row: &UsageTotal,
        tenant: &TenantId,
        owners: &Owners,
        line: &Line,
    ) -> Vec<String> {
        let Some(rate) = line.key.price.rate().filter(|rate| self.prices.entry(&rate.entry).is_some()) else {
            return Vec::new();
        };
        let path = self.tenants.ancestors(tenant, row.segment.start_ms);
        let measure = if rate.unit == Unit::GibHour { Measure::Memory } else { Measure::Time };
        self.prices.derivation(&asked(row, owners.get(&row.workload), &path), measure, rate.tier)
    }

    /// What a tenant's use costs: on a device reserved by name for it, the reservation's price.
    fn price_of(
        &self,
        row: &UsageTotal,
        tenant: &TenantId,
        asked: &Asked<'_>,
        basis: LineBasis,
    ) -> LinePrice {
        let answer = match basis.charged {
            Basis::Memory => self.prices.memory_rate(asked, 0),
            _ => self.prices.rate(asked),
        };
        let reserved = self.prices.policies().reserved_price(&row.device, tenant, asked.at_ms, self.tenants);
        match (answer, reserved) {
            (answer, Some(reservation)) => LinePrice::Priced(Rate {
                from_ms: reservation.valid.from_ms,
                entry: reservation.id.clone(),
                unit: Unit::GpuHour,
                list: answer.map_or(reservation.per_gpu_hour, |rate| rate.list),
                price: reservation.per_gpu_hour,
                tier: 0,
            }),
            (Ok(rate), None) => LinePrice::Priced(rate),
            (Err(why), None) => LinePrice::Unpriced(why),
        }
    }

    /// What the platform's own time on a device costs: the list price of a whole one where it is.
    pub fn own_price(&self, device: &DeviceTotal) -> LinePrice {
        let site = Site { cluster: &device.cluster, node: &device.node };
        let at_ms = device.segment.start_ms;
        let path = [TenantId::platform()];
        let asked = Asked {
            model: &device.model,
            profile: "",
            share: Share::WHOLE,
            path: &path,
            owner: None,
            site,
            at_ms,
        };
        self.prices.rate(&asked).map_or_else(LinePrice::Unpriced, LinePrice::Priced)
    }
}

/// What the price book is asked for a row.
fn asked<'a>(row: &'a UsageTotal, owner: Option<&'a Owner>, path: &'a [TenantId]) -> Asked<'a> {
    Asked {
        model: &row.model,
        profile: &row.profile,
        share: row.share,
        path,
        owner,
        site: Site::of(row),
        at_ms: row.segment.start_ms,
    }
}

/// An enum of the wire as its number, which never changes.
mod as_number {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Copy + Into<i32>, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_i32((*value).into())
    }

    pub fn deserialize<'de, T: TryFrom<i32>, D: Deserializer<'de>>(d: D) -> Result<T, D::Error> {
        let number = i32::deserialize(d)?;
        T::try_from(number).map_err(|_| serde::de::Error::custom(format!("{number} is of a newer version")))
    }
}
