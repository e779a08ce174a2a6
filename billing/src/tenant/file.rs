//! Reading `tenants.toml`: shape first, then the tree, then the rules.

use super::rule::KINDS;
use super::{Condition, Rule, Tenant, TenantError, TenantId};
use crate::instant;
use crate::place::Place;
use chrono_tz::Tz;
use schema::owner::key;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `tenants.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tenant: Vec<Spanned<TenantRow>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleRow>>,
}

/// A `[[tenant]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantRow {
    id: String,
    name: Option<String>,
    parent: Option<String>,
    cost_centre: Option<String>,
    statement_prefix: Option<String>,
}

/// A `[[rule]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleRow {
    tenant: String,
    #[serde(rename = "match")]
    conditions: BTreeMap<String, String>,
    from: Option<toml::Value>,
    to: Option<toml::Value>,
}

/// Longest prefix of statement numbers: they stay readable on a page.
const PREFIX_LEN_MAX: usize = 32;

/// Attributes that a rule may look at, besides `kind` and `cgroup`.
const ATTRIBUTES: [&str; 10] = [
    key::NAMESPACE,
    key::POD,
    key::POD_UID,
    key::CONTAINER_ID,
    key::SLURM_ACCOUNT,
    key::SLURM_JOB,
    key::UNIT,
    key::USER,
    key::UID,
    key::VM_ID,
];

/// Every key of a match, for errors.
pub(super) fn match_keys() -> String {
    format!("kind, cgroup, {}", ATTRIBUTES.join(", "))
}

/// The tenants by id, and the rules in order.
pub(super) fn read(
    file: &str,
    text: &str,
    zone: Tz,
) -> Result<(BTreeMap<TenantId, Tenant>, Vec<Rule>), TenantError> {
    let parsed: File = toml::from_str(text).map_err(|error| TenantError::Toml {
        place: Place::at(file, text, error.span().map(|s| s.start)),
        message: error.message().to_string(),
    })?;
    let place_of = |start: usize| Place::at(file, text, Some(start));
    let mut tenants = BTreeMap::new();
    let mut places = BTreeMap::new();
    for row in parsed.tenant {
        let place = place_of(row.span().start);
        let tenant = read_tenant(&place, row.into_inner())?;
        let id = tenant.id.clone();
        if let Some(other) =
            tenants.values().find(|t: &&Tenant| t.statement_prefix == tenant.statement_prefix && t.id != id)
        {
            let (first, prefix) = (other.id.clone(), tenant.statement_prefix);
            return Err(TenantError::SamePrefix { place, first, second: id, prefix });
        }
        if tenants.insert(id.clone(), tenant).is_some() {
            return Err(TenantError::SameId { place, id });
        }
        places.insert(id, place);
    }
    for (id, place) in &places {
        check_ancestors(place, id, &tenants)?;
    }
    let mut rules = Vec::with_capacity(parsed.rule.len());
    for (at, row) in parsed.rule.into_iter().enumerate() {
        let place = place_of(row.span().start);
        rules.push(read_rule(&place, at + 1, row.into_inner(), zone, &tenants)?);
    }
    Ok((tenants, rules))
}

fn read_tenant(place: &Place, row: TenantRow) -> Result<Tenant, TenantError> {
    let id = own_id(place, "id", &row.id)?;
    if id.is_reserved() {
        return Err(TenantError::Reserved { place: place.clone(), id });
    }
    let parent = row.parent.map(|parent| own_id(place, "parent", &parent)).transpose()?;
    let safe = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let fits = |p: &String| (1..=PREFIX_LEN_MAX).contains(&p.len()) && p.bytes().all(safe);
    let written_well = row.statement_prefix.as_ref().is_none_or(fits);
    let statement_prefix = row.statement_prefix.unwrap_or_else(|| row.id.clone());
    // A `~` at the end tells an undeclared tenant from a declared one of the same prefix.
    if !written_well || statement_prefix == TenantId::PLATFORM_PREFIX || statement_prefix.ends_with('~') {
        return Err(TenantError::BadPrefix { place: place.clone(), id, prefix: statement_prefix });
    }
    let name = row.name.unwrap_or_else(|| row.id.clone());
    Ok(Tenant { id, name, parent, cost_centre: row.cost_centre, statement_prefix })
}

fn own_id(place: &Place, key: &'static str, text: &str) -> Result<TenantId, TenantError> {
    TenantId::parse(text).map_err(|source| TenantError::Id { place: place.clone(), key, source })
}

/// Every parent is declared and nobody is their own ancestor.
fn check_ancestors(
    place: &Place,
    id: &TenantId,
    tenants: &BTreeMap<TenantId, Tenant>,
) -> Result<(), TenantError> {
    let mut at = id;
    // A walk longer than there are tenants has met one twice.
    for _ in 0..=tenants.len() {
        let Some(parent) = &tenants[at].parent else { return Ok(()) };
        if !tenants.contains_key(parent) {
            return Err(TenantError::Undeclared { place: place.clone(), key: "parent", id: parent.clone() });
        }
        at = parent;
    }
    Err(TenantError::Circle { place: place.clone(), id: id.clone() })
}

fn read_rule(
    place: &Place,
    rule: usize,
    row: RuleRow,
    zone: Tz,
    tenants: &BTreeMap<TenantId, Tenant>,
) -> Result<Rule, TenantError> {
    let tenant = own_id(place, "tenant", &row.tenant)?;
    let known = tenants.contains_key(&tenant) || tenant.as_str() == TenantId::UNATTRIBUTED;
    if !known {
        return Err(TenantError::Undeclared { place: place.clone(), key: "tenant", id: tenant });
    }
    if row.conditions.is_empty() {
        return Err(TenantError::EmptyMatch { place: place.clone(), rule });
    }
    let conditions = row
        .conditions
        .into_iter()
        .map(|(key, pattern)| read_condition(place, rule, key, pattern))
        .collect::<Result<_, _>>()?;
    let at = |key, value: Option<&toml::Value>| {
        let read = |value| instant::parse(&instant::written(value), zone);
        value.map(read).transpose().map_err(|source| TenantError::Instant {
            place: place.clone(),
            rule,
            key,
            source,
        })
    };
    let (from_ms, to_ms) = (at("from", row.from.as_ref())?, at("to", row.to.as_ref())?);
    if from_ms.zip(to_ms).is_some_and(|(from_ms, to_ms)| to_ms <= from_ms) {
        return Err(TenantError::Backwards { place: place.clone(), rule });
    }
    Ok(Rule { tenant, conditions, from_ms, to_ms })
}

fn read_condition(
    place: &Place,
    rule: usize,
    key: String,
    pattern: String,
) -> Result<Condition, TenantError> {
    match key.as_str() {
        "kind" => KINDS
            .iter()
            .find(|(name, _)| *name == pattern)
            .map(|(_, kind)| Condition::Kind(*kind))
            .ok_or_else(|| TenantError::Kind { place: place.clone(), rule, kind: pattern }),
        "cgroup" => Ok(Condition::Cgroup(pattern)),
        _ if ATTRIBUTES.contains(&key.as_str()) => Ok(Condition::Attribute { key, pattern }),
        _ => Err(TenantError::MatchKey { place: place.clone(), rule, key }),
    }
}
