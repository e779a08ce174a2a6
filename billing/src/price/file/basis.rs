//! `[[basis]]`: what is charged, by sharing and tenant.

use super::{Placed, Row};
use crate::price::basis::SHARINGS;
use crate::price::{BLEND_WHOLE_E6, Basis, BasisRule, Measure, PriceEntry, PriceError};
use schema::wire::Sharing;
use serde::Deserialize;
use toml::Value;

/// A `[[basis]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BasisRow {
    sharing: Option<Value>,
    tenant: Option<String>,
    charge: Value,
    from: Value,
    to: Option<Value>,
}

pub(super) fn read(row: &Row, from: BasisRow) -> Result<BasisRule, PriceError> {
    let sharing = row.patterns("sharing", from.sharing)?;
    Ok(BasisRule {
        name: row.name.clone(),
        sharing: sharing.iter().map(|name| read_sharing(row, name)).collect::<Result<_, _>>()?,
        tenant: row.tenant(from.tenant.as_deref())?,
        basis: read_charge(row, &from.charge)?,
        span: row.span(&from.from, from.to.as_ref())?,
    })
}

/// A price of memory is charged only by a basis that asks for it.
pub(super) fn check_memory(
    prices: &[Placed<PriceEntry>],
    bases: &[Placed<BasisRule>],
) -> Result<(), PriceError> {
    let memory_is_charged = bases.iter().any(|basis| basis.item.basis == Basis::Memory);
    let of_memory = |price: &&Placed<PriceEntry>| price.item.per.measure() == Measure::Memory;
    if let Some(price) = prices.iter().find(of_memory).filter(|_| !memory_is_charged) {
        let problem = "has per_gib_hour, and no basis charges memory: add [[basis]] with charge = \"memory\"";
        return Err(price.row.keys(problem));
    }
    let of_basis = |basis: &&Placed<BasisRule>| basis.item.basis == Basis::Memory;
    let memory_is_priced = prices.iter().any(|price| of_memory(&price));
    match bases.iter().find(of_basis).filter(|_| !memory_is_priced) {
        Some(basis) => Err(basis
            .row
            .keys("charges memory, and no price is per_gib_hour: add a [[price]] with per_gib_hour")),
        None => Ok(()),
    }
}

fn read_sharing(row: &Row, name: &str) -> Result<Sharing, PriceError> {
    let known = SHARINGS.iter().find(|(known, _)| *known == name).map(|(_, sharing)| *sharing);
    known.ok_or_else(|| {
        let names: Vec<String> = SHARINGS.iter().map(|(name, _)| format!("{name:?}")).collect();
        row.value("sharing", &format!("{name:?}"), &format!("write one of {}", names.join(", ")))
    })
}

fn read_charge(row: &Row, charge: &Value) -> Result<Basis, PriceError> {
    let remedy =
        "write \"held\", \"busy\", \"max\", \"memory\", or parts such as { held = \"0.5\", busy = \"0.5\" }";
    match charge {
        Value::String(word) => match word.as_str() {
            "held" => Ok(Basis::Held),
            "busy" => Ok(Basis::Busy),
            "max" => Ok(Basis::Max),
            "memory" => Ok(Basis::Memory),
            other => Err(row.value("charge", &format!("{other:?}"), remedy)),
        },
        Value::Table(parts) => {
            let part =
                |key| parts.get(key).map(|value| row.decimal("charge", value, 6, 1..=999_999)).transpose();
            let (Some(held), Some(busy)) = (part("held")?, part("busy")?) else {
                return Err(row.value("charge", "a table without both parts", remedy));
            };
            if parts.len() > 2 || held + busy != i64::from(BLEND_WHOLE_E6) {
                let remedy = "write parts of held and busy that sum to 1";
                return Err(row.value("charge", &charge.to_string(), remedy));
            }
            let part = |e6| u32::try_from(e6).expect("a part is below a whole");
            Ok(Basis::Blend { held_e6: part(held), busy_e6: part(busy) })
        }
        other => Err(row.value("charge", &other.to_string(), remedy)),
    }
}
