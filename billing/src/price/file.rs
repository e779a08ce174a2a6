//! Reading `prices.toml`: shape first, then each entry, then each model's prices in time.

use super::{PriceEntry, PriceError};
use crate::instant;
use crate::money::UnitPrice;
use crate::place::Place;
use crate::policy::{self, Policies};
use chrono_tz::Tz;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `prices.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    price: Vec<Spanned<Entry>>,
    #[serde(default)]
    reservation: Vec<Spanned<policy::ReservationRow>>,
    #[serde(default)]
    fee: Vec<Spanned<policy::FeeRow>>,
    #[serde(default)]
    overhead: Vec<Spanned<policy::OverheadRow>>,
    #[serde(default)]
    allocation: Vec<Spanned<policy::AllocationRow>>,
    #[serde(default)]
    pool_owner: Vec<Spanned<policy::PoolOwnerRow>>,
    #[serde(default)]
    credit_rule: Vec<Spanned<policy::CreditRuleRow>>,
    #[serde(default)]
    tax: Vec<Spanned<policy::TaxRow>>,
}

/// A `[[price]]`. Loose values are kept as TOML, so that the error for `per_gpu_hour = 3.5` can say what to write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    model: String,
    per_gpu_hour: toml::Value,
    from: toml::Value,
    to: Option<toml::Value>,
}

/// Entries ordered by model and start, each ending where the next of its model begins unless it ends itself; and the
/// policies beside them.
pub(super) fn read(file: &str, text: &str, zone: Tz) -> Result<(Vec<PriceEntry>, Policies), PriceError> {
    let parsed: File = toml::from_str(text).map_err(|error| PriceError::Toml {
        place: Place::at(file, text, error.span().map(|s| s.start)),
        message: error.message().to_string(),
    })?;
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    let mut entries = Vec::with_capacity(parsed.price.len());
    for spanned in parsed.price {
        let place = Place::at(file, text, Some(spanned.span().start));
        let entry = read_entry(&place, spanned.into_inner(), zone)?;
        if places.insert(entry.id.clone(), place.clone()).is_some() {
            return Err(PriceError::SameId { place, id: entry.id });
        }
        entries.push(entry);
    }
    entries.sort_by(|a, b| (&a.model, a.from_ms, &a.id).cmp(&(&b.model, b.from_ms, &b.id)));
    for i in 1..entries.len() {
        let second = entries[i].clone();
        let first = &mut entries[i - 1];
        if first.model == second.model {
            follow(&places[&second.id], first, &second)?;
        }
    }
    let rows = policy::Rows {
        reservation: parsed.reservation,
        fee: parsed.fee,
        overhead: parsed.overhead,
        allocation: parsed.allocation,
        pool_owner: parsed.pool_owner,
        credit_rule: parsed.credit_rule,
        tax: parsed.tax,
    };
    Ok((entries, policy::read(rows, file, text, zone)?))
}

fn read_entry(place: &Place, entry: Entry, zone: Tz) -> Result<PriceEntry, PriceError> {
    let id = entry.id;
    let empty = [("id", &id), ("model", &entry.model)].into_iter().find(|(_, text)| text.trim().is_empty());
    if let Some((key, _)) = empty {
        return Err(PriceError::Empty { place: place.clone(), id, key });
    }
    let toml::Value::String(price) = entry.per_gpu_hour else {
        return Err(PriceError::NotQuoted { place: place.clone(), id });
    };
    let per_gpu_hour = UnitPrice::parse(&price).map_err(|source| PriceError::Money {
        place: place.clone(),
        id: id.clone(),
        source,
    })?;
    let at = |key, value: &toml::Value| {
        instant::parse(&instant::written(value), zone).map_err(|source| PriceError::Instant {
            place: place.clone(),
            id: id.clone(),
            key,
            source,
        })
    };
    let from_ms = at("from", &entry.from)?;
    let to_ms = entry.to.as_ref().map(|to| at("to", to)).transpose()?;
    if to_ms.is_some_and(|to_ms| to_ms <= from_ms) {
        return Err(PriceError::Backwards { place: place.clone(), id });
    }
    Ok(PriceEntry { id, model: entry.model, per_gpu_hour, from_ms, to_ms })
}

/// `second` is the next price of the model of `first`.
fn follow(place: &Place, first: &mut PriceEntry, second: &PriceEntry) -> Result<(), PriceError> {
    let (place, model) = (place.clone(), second.model.clone());
    let to_ms = *first.to_ms.get_or_insert(second.from_ms);
    let names = (first.id.clone(), second.id.clone());
    match to_ms.cmp(&second.from_ms) {
        std::cmp::Ordering::Equal if first.from_ms < second.from_ms => Ok(()),
        std::cmp::Ordering::Less => Err(PriceError::Gap { place, first: names.0, second: names.1, model }),
        _ => Err(PriceError::Overlap { place, first: names.0, second: names.1, model }),
    }
}
