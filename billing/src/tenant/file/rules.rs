//! `[[pool]]` and `[[rule]]`: conditions as people write them, one pattern or a list, labels in a table.

use super::{own_id, read_instant};
use crate::place::Place;
use crate::tenant::condition::{ATTRIBUTES, LABELS};
use crate::tenant::master::History;
use crate::tenant::rule::KINDS;
use crate::tenant::{Condition, Pool, Rule, TenantError, TenantId};
use chrono_tz::Tz;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A `[[pool]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolRow {
    name: String,
    nodes: Value,
    cluster: Option<Value>,
}

/// A `[[rule]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    tenant: String,
    #[serde(rename = "match")]
    conditions: BTreeMap<String, Value>,
    from: Option<Value>,
    to: Option<Value>,
}

/// Longest list of patterns: more are a pattern, or a pool.
const PATTERNS_MAX: usize = 100;

/// Every key of a match, for errors.
pub(in crate::tenant) fn match_keys() -> String {
    format!(
        "kind, {}, cgroup, cluster, node, pool, label = {{ KEY = \"...\" }} or namespace_label = {{ KEY = \"...\" }}",
        ATTRIBUTES.join(", ")
    )
}

/// All pools by name.
pub(super) fn read_pools(
    rows: impl Iterator<Item = (Place, PoolRow)>,
) -> Result<BTreeMap<String, Pool>, TenantError> {
    let mut pools = BTreeMap::new();
    for (place, row) in rows {
        let whose = format!("pool {:?}", row.name);
        let nodes = patterns(&place, &whose, "nodes", row.nodes)?;
        let clusters = row.cluster.map(|value| patterns(&place, &whose, "cluster", value)).transpose()?;
        let pool = Pool { name: row.name.clone(), nodes, clusters: clusters.unwrap_or_default() };
        if pools.insert(row.name.clone(), pool).is_some() {
            return Err(TenantError::SamePool { place, name: row.name });
        }
    }
    Ok(pools)
}

/// One rule; `rule` is its position from 1.
pub(super) fn read(
    place: &Place,
    rule: usize,
    row: Row,
    zone: Tz,
    tenants: &BTreeMap<TenantId, History>,
    pools: &BTreeMap<String, Pool>,
) -> Result<Rule, TenantError> {
    let tenant = own_id(place, "tenant", &row.tenant)?;
    let known = tenants.contains_key(&tenant) || tenant.as_str() == TenantId::UNATTRIBUTED;
    if !known {
        return Err(TenantError::Undeclared { place: place.clone(), key: "tenant", id: tenant });
    }
    let mut conditions = Vec::new();
    for (key, value) in row.conditions {
        conditions.extend(read_key(place, rule, key, value, pools)?);
    }
    if conditions.is_empty() {
        return Err(TenantError::EmptyMatch { place: place.clone(), rule });
    }
    let at = |key, value: Option<Value>| {
        value.map(|value| read_instant(place, &format!("rule {rule}"), key, &value, zone)).transpose()
    };
    let (from_ms, to_ms) = (at("from", row.from)?, at("to", row.to)?);
    if from_ms.zip(to_ms).is_some_and(|(from_ms, to_ms)| to_ms <= from_ms) {
        return Err(TenantError::Backwards { place: place.clone(), rule });
    }
    Ok(Rule { tenant, conditions, from_ms, to_ms })
}

/// The conditions of one key: several where it is a table of labels.
fn read_key(
    place: &Place,
    rule: usize,
    key: String,
    value: Value,
    pools: &BTreeMap<String, Pool>,
) -> Result<Vec<Condition>, TenantError> {
    let whose = format!("rule {rule}");
    if let Some((name, prefix)) = LABELS.iter().find(|(name, _)| *name == key) {
        let Value::Table(labels) = value else {
            return Err(TenantError::Labels { place: place.clone(), rule, key: name });
        };
        return labels
            .into_iter()
            .map(|(label, value)| {
                let patterns = patterns(place, &whose, &format!("{name} {label}"), value)?;
                Ok(Condition::Attribute { key: format!("{prefix}{label}"), patterns })
            })
            .collect();
    }
    let known = ["kind", "cgroup", "cluster", "node", "pool"];
    if !known.contains(&key.as_str()) && !ATTRIBUTES.contains(&key.as_str()) {
        return Err(TenantError::MatchKey { place: place.clone(), rule, key });
    }
    let patterns = patterns(place, &whose, &key, value)?;
    let condition = match key.as_str() {
        "kind" => {
            let kind = |name: String| {
                let known = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
                known.ok_or(TenantError::Kind { place: place.clone(), rule, kind: name })
            };
            Condition::Kind(patterns.into_iter().map(kind).collect::<Result<_, _>>()?)
        }
        "cgroup" => Condition::Cgroup(patterns),
        "cluster" => Condition::Cluster(patterns),
        "node" => Condition::Node(patterns),
        "pool" => {
            let pool = |name: String| {
                pools.get(&name).cloned().ok_or(TenantError::UndeclaredPool {
                    place: place.clone(),
                    rule,
                    name,
                })
            };
            Condition::Pool(patterns.into_iter().map(pool).collect::<Result<_, _>>()?)
        }
        _ => Condition::Attribute { key, patterns },
    };
    Ok(vec![condition])
}

/// One pattern, or a list of them.
fn patterns(place: &Place, whose: &str, key: &str, value: Value) -> Result<Vec<String>, TenantError> {
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    let text = |value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    let patterns: Option<Vec<String>> = list.into_iter().map(text).collect();
    patterns.filter(|p| (1..=PATTERNS_MAX).contains(&p.len())).ok_or_else(|| TenantError::Patterns {
        place: place.clone(),
        whose: whose.into(),
        key: key.into(),
    })
}
