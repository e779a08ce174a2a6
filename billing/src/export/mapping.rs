//! JSON of a dry run and of what is unmapped, decimals as strings.

use super::json::bytes;
use crate::mapping::{Catch, DryRun, Unmapped};
use crate::money::Currency;
use crate::period::Period;
use crate::tenant::TenantId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a version of the rules does to a period's usage.
pub fn dry_run(run: &DryRun, period: &Period, currency: &Currency) -> Vec<u8> {
    let rules = run.rules.iter().map(|rule| {
        json!({
            "rule": rule.number,
            "match": rule.what,
            "tenant": rule.tenant,
            "caught": catch(&rule.catch),
            "taken_by_rules": rule.taken_by,
            "now": by_tenant(&rule.now),
        })
    });
    let moved = run.moved.iter().map(|m| {
        json!({
            "from": m.from,
            "to": m.to,
            "moved": catch(&m.catch),
            "exact_cost": m.exact,
            "amount": currency.decimal(m.amount(currency)),
            "some_unpriced": m.unpriced,
        })
    });
    bytes(&json!({
        "period": period.label(),
        "currency": currency,
        "rules": rules.collect::<Vec<_>>(),
        "named_by": run.named.iter().map(|(attribute, c)| (attribute.to_string(), catch(c))).collect::<BTreeMap<_, _>>(),
        "ended_tenants": by_tenant(&run.ended),
        "no_rule": catch(&run.no_rule),
        "no_owner": catch(&run.no_owner),
        "total": catch(&run.total),
        "moves": moved.collect::<Vec<_>>(),
    }))
}

/// What no rule catches in a period.
pub fn unmapped(found: &Unmapped, period: &Period) -> Vec<u8> {
    let groups = found.groups.iter().map(|group| {
        json!({
            "kind": group.kind,
            "attribute": group.attribute,
            "value": group.value,
            "unmapped": catch(&group.catch),
            "clusters": group.clusters,
            "tenant": group.tenant,
            "rule_to_add": group.rule,
        })
    });
    bytes(&json!({
        "period": period.label(),
        "no_rules_written": found.no_rules,
        "groups": groups.collect::<Vec<_>>(),
        "unmapped_gpu_hours": found.sum().to_string(),
        "held_gpu_hours": found.held.to_string(),
        "apart": {
            "ghost_gpu_hours": found.apart.ghost.to_string(),
            "no_owner": catch(&found.apart.no_owner),
            "nameless": catch(&found.apart.nameless),
            "ended_tenants": by_tenant(&found.apart.ended),
        },
    }))
}

fn catch(catch: &Catch) -> Value {
    json!({ "workloads": catch.workloads(), "gpu_hours": catch.held.to_string() })
}

fn by_tenant(of: &BTreeMap<TenantId, Catch>) -> BTreeMap<String, Value> {
    of.iter().map(|(tenant, c)| (tenant.to_string(), catch(c))).collect()
}
