//! `[[price]]` and `[[purchase]]`: exactly one kind of price each, flat or in tiers.

use super::{Placed, Row};
use crate::money::{UNIT_PRICE_MAX, UnitPrice};
use crate::price::bind::{Mention, Named};
use crate::price::profile::Profile;
use crate::price::{Per, PriceEntry, PriceError, Purchase, Selectors, ServiceUnit, Tier, TierMode, Tiers};
use serde::Deserialize;
use toml::Value;

/// A `[[price]]`. Loose values are kept as TOML, so that the error for `per_gpu_hour = 3.5` can say what to write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceRow {
    pub id: String,
    model: String,
    per_gpu_hour: Option<Value>,
    per_instance_hour: Option<Value>,
    per_gib_hour: Option<Value>,
    service_units_per_gpu_hour: Option<Value>,
    service_unit: Option<String>,
    tiers: Option<Vec<TierRow>>,
    tier_mode: Option<String>,
    tenant: Option<String>,
    priority_class: Option<Value>,
    qos: Option<Value>,
    partition: Option<Value>,
    pool: Option<Value>,
    profile: Option<Value>,
    currency: Option<String>,
    from: Value,
    to: Option<Value>,
}

/// One of `tiers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierRow {
    up_to: Option<Value>,
    per_gpu_hour: Option<Value>,
    per_instance_hour: Option<Value>,
    per_gib_hour: Option<Value>,
    service_units_per_gpu_hour: Option<Value>,
}

/// A `[[purchase]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PurchaseRow {
    pub id: String,
    model: String,
    price: Value,
    life_months: Option<Value>,
    life_years: Option<Value>,
    expected_utilisation_percent: Value,
    currency: Option<String>,
    from: Value,
    to: Option<Value>,
}

/// Most tiers of a price: more are a curve that nobody can check.
const TIERS_MAX: usize = 20;
/// The kinds of prices, of which an entry has one.
const KINDS: &str = "per_gpu_hour, per_instance_hour, per_gib_hour or service_units_per_gpu_hour";
/// A century, far past any device.
const LIFE_MONTHS_MAX: i64 = 1200;

/// One `[[price]]`; which service unit it means is settled when all are read.
pub(super) fn read(row: &Row, from: PriceRow) -> Result<PriceEntry, PriceError> {
    row.filled("model", &from.model)?;
    let flat =
        [&from.per_gpu_hour, &from.per_instance_hour, &from.per_gib_hour, &from.service_units_per_gpu_hour];
    let (per, tiers) = match (&from.tiers, &from.tier_mode) {
        (None, None) => {
            let (per, price) = one_price(row, flat)?;
            (per, Tiers::flat(price))
        }
        (Some(tiers), Some(mode)) if flat.iter().all(|price| price.is_none()) => {
            read_tiers(row, tiers, mode)?
        }
        (Some(_), None) => {
            return Err(row.keys(
                "has tiers and no tier_mode: write \"graduated\" (each part pays its own tier) or \"volume\" (all pay the tier that the sum reaches)",
            ));
        }
        (None, Some(_)) => return Err(row.keys("has a tier_mode and no tiers: add them, or leave it out")),
        (Some(_), Some(_)) => {
            return Err(
                row.keys(format!("has tiers and a price beside them: write {KINDS} in each tier only"))
            );
        }
    };
    let selectors = Selectors {
        tenant: row.tenant(from.tenant.as_deref())?,
        priority_class: row.patterns("priority_class", from.priority_class)?,
        qos: row.patterns("qos", from.qos)?,
        partition: row.patterns("partition", from.partition)?,
        pool: row.patterns("pool", from.pool)?,
        profile: row.patterns("profile", from.profile)?,
    };
    if per == Per::InstanceHour && selectors.profile.is_empty() {
        return Err(
            row.keys("has per_instance_hour and no profile: name the MIG profile that an instance is of")
        );
    }
    for profile in selectors.profile.iter().filter(|p| !p.contains('*')) {
        check_profile(row, "profile", profile)?;
    }
    let per = match (per, from.service_unit) {
        (Per::ServiceUnits(_), name) => Per::ServiceUnits(name.unwrap_or_default()),
        (per, None) => per,
        (_, Some(_)) => {
            return Err(row.keys("names a service_unit and is priced in money: leave it out, or write service_units_per_gpu_hour"));
        }
    };
    if matches!(per, Per::ServiceUnits(_)) && from.currency.is_some() {
        return Err(row.keys("is priced in service units and has a currency: write it in [[service_unit]]"));
    }
    let currency = from.currency.map(|code| row.currency("currency", &code)).transpose()?;
    let span = row.span(&from.from, from.to.as_ref())?;
    Ok(PriceEntry { id: from.id, model: from.model, selectors, per, tiers, currency, purchase: None, span })
}

/// One `[[purchase]]`, as the price that is derived from it.
pub(super) fn read_purchase(row: &Row, from: PurchaseRow) -> Result<PriceEntry, PriceError> {
    row.filled("model", &from.model)?;
    let life_months = match (&from.life_months, &from.life_years) {
        (Some(months), None) => row.decimal("life_months", months, 0, 1..=LIFE_MONTHS_MAX)?,
        (None, Some(years)) => 12 * row.decimal("life_years", years, 0, 1..=LIFE_MONTHS_MAX / 12)?,
        _ => {
            return Err(row.keys("needs one of life_months and life_years: write how long the device serves"));
        }
    };
    let key = "expected_utilisation_percent";
    let utilisation_e4 = row.decimal(key, &from.expected_utilisation_percent, 4, 1..=1_000_000)?;
    let currency = from.currency.map(|code| row.currency("currency", &code)).transpose()?;
    let price = row.money("price", &from.price)?;
    let purchase = Purchase { price, currency: currency.clone(), life_months, utilisation_e4 };
    let per_gpu_hour = purchase.per_gpu_hour();
    if per_gpu_hour > dearest_taken() {
        return Err(
            row.keys(format!("makes {per_gpu_hour} per GPU-hour, above {UNIT_PRICE_MAX}: check its figures"))
        );
    }
    let span = row.span(&from.from, from.to.as_ref())?;
    Ok(PriceEntry {
        id: from.id,
        model: from.model,
        selectors: Selectors::default(),
        per: Per::GpuHour,
        tiers: Tiers::flat(per_gpu_hour),
        currency,
        purchase: Some(purchase),
        span,
    })
}

/// Which service unit each price means, and that it has a price for as long.
pub(super) fn settle_units(
    prices: &mut [Placed<PriceEntry>],
    units: &[Placed<ServiceUnit>],
) -> Result<(), PriceError> {
    for Placed { row, item } in prices {
        let Per::ServiceUnits(name) = &mut item.per else { continue };
        if name.is_empty() {
            let first = units.first().map(|unit| &unit.item.name);
            let only = first.filter(|first| units.iter().all(|unit| unit.item.name == **first));
            *name = only.cloned().ok_or_else(|| {
                row.keys(if first.is_none() {
                    "is priced in service units and there are none: add [[service_unit]] with a name and a price"
                } else {
                    "is priced in service units of which there are several: name one with service_unit"
                })
            })?;
        }
        let versions = units.iter().map(|unit| &unit.item).filter(|unit| unit.name == *name);
        let (first, last) = (versions.clone().next(), versions.clone().next_back());
        let Some((first, last)) = first.zip(last) else {
            let problem = format!(
                "names the service_unit {name:?}, which there is none of: add it, or correct the name"
            );
            return Err(row.keys(problem));
        };
        // Versions follow each other without a gap.
        let priced = crate::price::Span { from_ms: first.span.from_ms, to_ms: last.span.to_ms };
        if !priced.covers(&item.span) {
            return Err(row.keys(format!(
                "holds when the service_unit {name:?} ({:?} to {:?}) has no price: make the spans fit",
                first.id, last.id
            )));
        }
        let dear = versions.map(|unit| i128::from(unit.price.0)).max().unwrap_or(0);
        let most = item.tiers.tiers.iter().map(|tier| i128::from(tier.price.0)).max().unwrap_or(0);
        if dear * most > i128::from(dearest_taken().0) * 1_000_000 {
            return Err(
                row.keys(format!("makes a price above {UNIT_PRICE_MAX} per GPU-hour: check its units"))
            );
        }
    }
    Ok(())
}

/// What prices name of other files: tenants, pools, and currencies that need a rate.
pub(super) fn mentions<'a>(
    prices: &'a [Placed<PriceEntry>],
    units: &'a [Placed<ServiceUnit>],
) -> impl Iterator<Item = Mention> + 'a {
    prices.iter().flat_map(move |placed| {
        let PriceEntry { selectors, tiers, per, currency, span, .. } = &placed.item;
        let most = tiers.tiers.iter().map(|tier| tier.price).max().unwrap_or(UnitPrice(0));
        let tenant = placed.mention_tenant(selectors.tenant.as_ref());
        let pools = selectors.pool.iter().map(|pool| placed.mention(Named::Pool(pool.clone())));
        let own = currency.iter().map(move |c| (c.clone(), most, *span));
        let of_units = units.iter().map(|unit| &unit.item).filter_map(move |unit| {
            let used =
                matches!(per, Per::ServiceUnits(name) if *name == unit.name) && unit.span.overlaps(span);
            used.then(|| Some((unit.currency.clone()?, unit.price_of(most), unit.span))).flatten()
        });
        let moneys = own.chain(of_units);
        let moneys =
            moneys.map(|(currency, dearest, span)| placed.mention(Named::Price { currency, dearest, span }));
        tenant.into_iter().chain(pools).chain(moneys)
    })
}

/// That a name is that of a MIG profile.
pub(super) fn check_profile(row: &Row, key: &str, profile: &str) -> Result<(), PriceError> {
    match Profile::parse(profile) {
        Some(_) => Ok(()),
        None => Err(row.value(
            key,
            &format!("{profile:?}"),
            "write a MIG profile as `nvidia-smi mig -lgip` does, such as \"1g.10gb\"",
        )),
    }
}

fn one_price(row: &Row, kinds: [&Option<Value>; 4]) -> Result<(Per, UnitPrice), PriceError> {
    let read = [
        ("per_gpu_hour", Per::GpuHour),
        ("per_instance_hour", Per::InstanceHour),
        ("per_gib_hour", Per::GibHour),
        ("service_units_per_gpu_hour", Per::ServiceUnits(String::new())),
    ];
    let mut stated = read.into_iter().zip(kinds).filter_map(|(kind, value)| Some((kind, value.as_ref()?)));
    match (stated.next(), stated.next()) {
        (Some(((key, per), value)), None) => Ok((per, row.money(key, value)?)),
        (None, _) => Err(row.keys(format!("has no price: write one of {KINDS}"))),
        (Some(_), Some(_)) => Err(row.keys(format!("has two prices: write only one of {KINDS}"))),
    }
}

fn read_tiers(row: &Row, rows: &[TierRow], mode: &str) -> Result<(Per, Tiers), PriceError> {
    let mode = match mode {
        "graduated" => TierMode::Graduated,
        "volume" => TierMode::Volume,
        other => {
            return Err(row.value("tier_mode", &format!("{other:?}"), "write \"graduated\" or \"volume\""));
        }
    };
    if !(1..=TIERS_MAX).contains(&rows.len()) {
        return Err(row.keys(format!("has {} tiers: write 1 to {TIERS_MAX}", rows.len())));
    }
    let mut per: Option<Per> = None;
    let mut tiers: Vec<Tier> = Vec::with_capacity(rows.len());
    for (at, tier) in rows.iter().enumerate() {
        let kinds = [
            &tier.per_gpu_hour,
            &tier.per_instance_hour,
            &tier.per_gib_hour,
            &tier.service_units_per_gpu_hour,
        ];
        let (kind, price) = one_price(row, kinds)?;
        if *per.get_or_insert(kind.clone()) != kind {
            return Err(row.keys("has tiers of different kinds: price all of them per the same"));
        }
        let last = at + 1 == rows.len();
        let up_to_nano = match &tier.up_to {
            Some(up_to) if !last => Some(row.decimal("up_to", up_to, 9, 1..=999_999_999_000_000_000)?),
            None if last => None,
            Some(_) => {
                return Err(row.keys(
                    "has an up_to in its last tier: leave it out, so that every quantity has a price",
                ));
            }
            None => return Err(row.keys(format!("has no up_to in tier {}: say where it ends", at + 1))),
        };
        let before = tiers.last().and_then(|tier| tier.up_to_nano);
        if before.zip(up_to_nano).is_some_and(|(before, up_to)| up_to <= before) {
            return Err(row.keys(format!(
                "has an up_to in tier {} that is not above the one before: put tiers in order",
                at + 1
            )));
        }
        tiers.push(Tier { up_to_nano, price });
    }
    Ok((per.expect("there is a tier"), Tiers { mode, tiers }))
}

fn dearest_taken() -> UnitPrice {
    UnitPrice(UNIT_PRICE_MAX * 1_000_000)
}
