//! `[[discount]]`, `[[mig_factor]]`, `[[service_unit]]` and `[[energy]]`.

use super::{Row, price};
use crate::price::{Discount, Energy, MigFactor, Preset, PriceError, ServiceUnit};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A `[[discount]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiscountRow {
    pub id: String,
    tenant: Option<String>,
    model: Option<String>,
    percent: Value,
    from: Value,
    to: Option<Value>,
}

/// A `[[mig_factor]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MigFactorRow {
    model: String,
    preset: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Value>,
    from: Value,
    to: Option<Value>,
}

/// A `[[service_unit]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceUnitRow {
    pub id: String,
    name: String,
    price: Value,
    currency: Option<String>,
    from: Value,
    to: Option<Value>,
}

/// An `[[energy]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnergyRow {
    pub id: String,
    cluster: Option<String>,
    per_kwh: Option<Value>,
    pue: Option<Value>,
    grams_co2e_per_kwh: Option<Value>,
    from: Value,
    to: Option<Value>,
}

/// Most profiles of a factor: NVIDIA has fewer than 40.
const PROFILES_MAX: usize = 100;

pub(super) fn read_discount(row: &Row, from: DiscountRow) -> Result<Discount, PriceError> {
    let model = from.model.unwrap_or_else(|| "*".into());
    row.filled("model", &model)?;
    Ok(Discount {
        tenant: row.tenant(from.tenant.as_deref())?,
        model,
        percent_e4: row.decimal("percent", &from.percent, 4, 0..=1_000_000)?,
        span: row.span(&from.from, from.to.as_ref())?,
        id: from.id,
    })
}

pub(super) fn read_mig_factor(row: &Row, from: MigFactorRow) -> Result<MigFactor, PriceError> {
    row.filled("model", &from.model)?;
    let preset = match from.preset.as_deref() {
        None => None,
        Some("compute-slices") => Some(Preset::ComputeSlices),
        Some("memory-eighths") => Some(Preset::MemoryEighths),
        Some(other) => {
            let remedy = "write \"compute-slices\" or \"memory-eighths\"";
            return Err(row.value("preset", &format!("{other:?}"), remedy));
        }
    };
    if preset.is_none() && from.profiles.is_empty() {
        return Err(row.keys("has neither preset nor profiles: write one of them or both"));
    }
    if from.profiles.len() > PROFILES_MAX {
        return Err(
            row.keys(format!("has more than {PROFILES_MAX} profiles: leave out those that a preset serves"))
        );
    }
    let mut profiles_e6 = BTreeMap::new();
    for (profile, part) in from.profiles {
        price::check_profile(row, "profiles", &profile)?;
        profiles_e6.insert(profile, row.decimal("profiles", &part, 6, 1..=1_000_000)?);
    }
    let span = row.span(&from.from, from.to.as_ref())?;
    Ok(MigFactor { name: row.name.clone(), model: from.model, preset, profiles_e6, span })
}

pub(super) fn read_unit(row: &Row, from: ServiceUnitRow) -> Result<ServiceUnit, PriceError> {
    row.filled("name", &from.name)?;
    Ok(ServiceUnit {
        name: from.name,
        price: row.money("price", &from.price)?,
        currency: from.currency.map(|code| row.currency("currency", &code)).transpose()?,
        span: row.span(&from.from, from.to.as_ref())?,
        id: from.id,
    })
}

pub(super) fn read_energy(row: &Row, from: EnergyRow) -> Result<Energy, PriceError> {
    let cluster = from.cluster.unwrap_or_else(|| "*".into());
    row.filled("cluster", &cluster)?;
    let pue = |value: &Value| row.decimal("pue", value, 4, 10_000..=100_000);
    let mg = |value: &Value| row.decimal("grams_co2e_per_kwh", value, 3, 0..=10_000_000);
    Ok(Energy {
        cluster,
        per_kwh: from.per_kwh.map(|value| row.money("per_kwh", &value)).transpose()?,
        pue_e4: from.pue.as_ref().map(pue).transpose()?.unwrap_or(10_000),
        mg_co2e_per_kwh: from.grams_co2e_per_kwh.as_ref().map(mg).transpose()?,
        span: row.span(&from.from, from.to.as_ref())?,
        id: from.id,
    })
}
