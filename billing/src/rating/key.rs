//! What makes two rows of usage one line, and the question that finds it for any row.

use super::Owners;
use crate::charge::{Quantity, Unit};
use crate::money::{Exact, UnitPrice};
use crate::price::{Lookup, PriceBook, Rate, Unpriced};
use crate::rating::Sums;
use crate::tenant::{Ended, MatchedBy, Resolved, Site, Tenants};
use crate::usage::UsageTotal;
use schema::owner::Owner;
use schema::share::Share;
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
    /// The price, or why there is none.
    pub price: LinePrice,
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
            Unit::InstanceHour => nano_of(u128::from(sums.natural_ms.unsigned_abs()), HOUR_MS),
            Unit::GibHour => nano_of(sums.memory_byte_ms, HOUR_MS << 30),
            Unit::GpuHour | Unit::KilowattHour | Unit::Month | Unit::Piece => sums.charged.0,
        };
        Quantity { nano, unit }
    }

    /// The exact cost of what was summed, where there is a price.
    pub fn cost_of(&self, sums: &Sums) -> Option<Exact> {
        self.unit().map(|price| Exact::times(self.quantity(sums), price))
    }
}

/// Milliseconds in an hour.
const HOUR_MS: u128 = 3_600_000;

/// `amount / one` in 1e-9, a tie to the even unit.
fn nano_of(amount: u128, one: u128) -> i64 {
    let (whole, rest) = crate::wide::mul_div(amount, 1_000_000_000, one);
    let up = match (rest * 2).cmp(&one) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => whole % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    i64::try_from(whole + u128::from(up)).expect("a month of a fleet is below 9e9 hours of anything")
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
        let key = LineKey {
            model: row.model.clone(),
            sharing: row.sharing,
            profile: row.profile.clone(),
            share: row.share,
            quality: row.quality,
            busy_quality: row.busy_quality,
            unwatched: row.natural_ms > 0 && row.observed_ms == 0,
            ended,
            price: price_at(self.prices, &row.model, at_ms),
        };
        (resolved, key)
    }

    /// As [`Rules::line_of`], with the owner looked up.
    pub fn line_among(&self, row: &UsageTotal, owners: &Owners) -> (Resolved, LineKey) {
        self.line_of(row, owners.get(&row.workload))
    }
}

/// What the book says about a model at an instant, as a line carries it.
pub(super) fn price_at(prices: &PriceBook, model: &str, at_ms: i64) -> LinePrice {
    match prices.lookup(model, at_ms) {
        Lookup::Priced(entry) => LinePrice::Priced(Rate {
            from_ms: entry.from_ms,
            entry: entry.id.clone(),
            unit: Unit::GpuHour,
            list: entry.per_gpu_hour,
            price: entry.per_gpu_hour,
            tier: 0,
        }),
        Lookup::Unpriced(why) => LinePrice::Unpriced(why),
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
