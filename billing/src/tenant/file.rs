//! Reading `tenants.toml`: shape first, then the tree, then pools and rules.

use super::master::History;
use super::{Pool, Rule, TenantError, TenantId};
use crate::instant;
use crate::place::Place;
use chrono_tz::Tz;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

mod rules;
mod tenants;
pub(super) use rules::match_keys;

/// `tenants.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tenant: Vec<Spanned<tenants::Row>>,
    #[serde(default)]
    pool: Vec<Spanned<rules::PoolRow>>,
    #[serde(default)]
    rule: Vec<Spanned<rules::Row>>,
}

/// What the file declares: tenants by id, rules in order, pools by name.
type Declared = (BTreeMap<TenantId, History>, Vec<Rule>, Vec<Pool>);

/// The tenants by id, the rules in order, and the pools by name.
pub(super) fn read(file: &str, text: &str, zone: Tz) -> Result<Declared, TenantError> {
    let parsed: File = toml::from_str(text).map_err(|error| TenantError::Toml {
        place: Place::at(file, text, error.span().map(|s| s.start)),
        message: error.message().to_string(),
    })?;
    let place_of = |start: usize| Place::at(file, text, Some(start));
    let placed = parsed.tenant.into_iter().map(|row| (place_of(row.span().start), row.into_inner()));
    let tenants = tenants::read(placed, zone)?;
    let placed = parsed.pool.into_iter().map(|row| (place_of(row.span().start), row.into_inner()));
    let pools = rules::read_pools(placed)?;
    let mut rules = Vec::with_capacity(parsed.rule.len());
    for (at, row) in parsed.rule.into_iter().enumerate() {
        let place = place_of(row.span().start);
        rules.push(rules::read(&place, at + 1, row.into_inner(), zone, &tenants, &pools)?);
    }
    Ok((tenants, rules, pools.into_values().collect()))
}

fn own_id(place: &Place, key: &'static str, text: &str) -> Result<TenantId, TenantError> {
    TenantId::parse(text).map_err(|source| TenantError::Id { place: place.clone(), key, source })
}

/// An instant of the file; `whose` is `rule 3` or `tenant vision` in errors.
fn read_instant(
    place: &Place,
    whose: &str,
    key: &'static str,
    value: &toml::Value,
    zone: Tz,
) -> Result<i64, TenantError> {
    instant::parse(&instant::written(value), zone).map_err(|source| TenantError::Instant {
        place: place.clone(),
        whose: whose.into(),
        key,
        source,
    })
}
