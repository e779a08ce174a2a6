//! JSON: the whole statement, decimals as strings, because most readers would make floats of numbers.

use crate::instant::local;
use crate::money::{Amount, Currency};
use crate::rating::{Line, PlatformLine};
use crate::statement::{Bill, Context, PlatformStatement, ProofRow, Statement, Totals};
use crate::words;
use chrono_tz::Tz;
use serde_json::{Value, json};

/// A tenant's statement.
pub fn statement(statement: &Statement) -> Vec<u8> {
    bytes(&statement_value(statement))
}

/// The platform's statement.
pub fn platform(statement: &PlatformStatement) -> Vec<u8> {
    bytes(&platform_value(statement))
}

/// All statements of a period and the fleet that they add up to.
pub fn bill(bill: &Bill) -> Vec<u8> {
    let currency = &bill.platform.currency;
    let parts: Vec<Value> = bill
        .fleet
        .parts
        .iter()
        .map(|part| json!({ "name": part.name, "gpu_hours": part.quantity.to_string(), "unpriced_gpu_hours": part.unpriced.to_string(), "amount": decimal(part.amount_known(), currency) }))
        .collect();
    bytes(&json!({
        "statements": bill.tenants.iter().map(statement_value).collect::<Vec<_>>(),
        "platform": platform_value(&bill.platform),
        "fleet": {
            "capacity_gpu_hours": bill.fleet.capacity.to_string(),
            "devices": bill.fleet.devices,
            "parts": parts,
            "amount": currency.decimal(bill.fleet.amount),
            "busy_gpu_hours": bill.fleet.busy.to_string(),
            "ghost_gpu_hours": bill.fleet.ghost.to_string(),
            "not_busy_gpu_hours": bill.fleet.not_busy.to_string(),
            "use_unknown_gpu_hours": bill.fleet.unknown.to_string(),
            "adds_up": bill.fleet.adds_up(),
        },
    }))
}

fn statement_value(statement: &Statement) -> Value {
    let currency = &statement.currency;
    let went = &statement.where_it_went;
    let coverage = statement.coverage();
    json!({
        "number": statement.number,
        "tenant": {
            "id": statement.tenant.id,
            "name": statement.tenant.name,
            "path": statement.path,
            "cost_centre": statement.tenant.cost_centre,
            "cost_centres": statement.cost_centres.iter().map(|span| json!({
                "from": utc(span.from_ms),
                "cost_centre": span.name,
            })).collect::<Vec<_>>(),
            "contacts": statement.tenant.contacts,
            "language": statement.tenant.language,
            "ends": statement.tenant.ends_ms.map(utc),
            "final_statement": statement.last,
        },
        "context": context_value(&statement.context),
        "currency": currency,
        "lines": statement.lines.iter().map(|line| line_value(line, currency)).collect::<Vec<_>>(),
        "totals": totals_value(&statement.totals, currency),
        "where_it_went": {
            "busy": currency.decimal(went.busy),
            "held_not_busy": currency.decimal(went.not_busy),
            "use_unknown": currency.decimal(went.unknown),
        },
        "coverage": {
            "observed_gpu_hours": coverage.observed.to_string(),
            "capacity_gpu_hours": coverage.capacity.to_string(),
        },
        "proof": statement.proof.iter().map(proof_value).collect::<Vec<_>>(),
    })
}

fn platform_value(statement: &PlatformStatement) -> Value {
    let currency = &statement.currency;
    json!({
        "number": statement.number,
        "context": context_value(&statement.context),
        "currency": currency,
        "lines": statement.lines.iter().map(|line| platform_line_value(line, currency)).collect::<Vec<_>>(),
        "unattributed": statement.unattributed.iter().map(|line| unattributed_value(line, statement)).collect::<Vec<_>>(),
        "totals": totals_value(&statement.totals, currency),
        "ghost_gpu_hours": statement.ghost.to_string(),
    })
}

fn utc(at_ms: i64) -> String {
    local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn context_value(context: &Context) -> Value {
    let window = context.period.window();
    json!({
        "period": context.period.label(),
        "zone": context.period.zone().name(),
        "start": utc(window.start_ms),
        "end": utc(window.end_ms),
        "hours": context.period.hours(),
        "status": words::status(context.status),
        "watermark": words::watermark(context.mode),
        "revision": context.revision,
        "prices": { "version": context.prices.number, "sha256": context.prices.hash },
        "mapping": { "version": context.mapping.number, "sha256": context.mapping.hash },
        "data_through": context.data_through_ms.map(utc),
    })
}

fn line_value(line: &Line, currency: &Currency) -> Value {
    let key = &line.key;
    json!({
        "line": format!("L{}", line.number),
        "what": words::line_what(key),
        "model": key.model,
        "sharing": words::sharing(key.sharing),
        "profile": key.profile,
        "share": key.share,
        "quality": words::line_quality(key),
        "natural_ms": line.sums.natural_ms,
        "observed_ms": line.sums.observed_ms,
        "gpu_hours": line.sums.held.to_string(),
        "busy_gpu_hours": line.busy_held().to_string(),
        "held_not_busy_gpu_hours": line.not_busy_held().to_string(),
        "use_unknown_gpu_hours": line.unknown_held().to_string(),
        "energy_mj": line.sums.energy_mj,
        "price_entry": key.price.entry(),
        "unit_price": key.price.unit().map(|p| p.to_string()),
        "exact_cost": line.exact,
        "amount": decimal(line.amount, currency),
        "unpriced": words::unpriced_remedy(&key.price, &key.model),
    })
}

/// A line of `unattributed`, with why it is nobody's.
fn unattributed_value(line: &Line, statement: &PlatformStatement) -> Value {
    let mut value = line_value(line, &statement.currency);
    let ended = line.key.ended.as_ref();
    value["because"] = words::unattributed(ended, statement.context.period.zone()).into();
    value["ended_tenant"] = ended.map(|ended| ended.tenant.as_str()).into();
    value
}

fn platform_line_value(line: &PlatformLine, currency: &Currency) -> Value {
    json!({
        "line": format!("P{}", line.number),
        "model": line.model,
        "what": line.kind.word(),
        "gpu_hours": line.quantity.to_string(),
        "price_entry": line.price.entry(),
        "unit_price": line.price.unit().map(|p| p.to_string()),
        "exact_cost": line.exact,
        "amount": decimal(line.amount, currency),
        "unpriced": words::unpriced_remedy(&line.price, &line.model),
    })
}

fn totals_value(totals: &Totals, currency: &Currency) -> Value {
    json!({
        "gpu_hours": totals.quantity.to_string(),
        "amount": currency.decimal(totals.amount),
        "exact_cost": totals.exact,
        "rounding": totals.rounding,
        "unpriced_lines": totals.unpriced_lines,
        "energy_mj": totals.energy_mj,
    })
}

fn proof_value(row: &ProofRow) -> Value {
    json!({
        "device": row.device,
        "node": row.node,
        "model": row.model,
        "yours": row.yours.to_string(),
        "others": row.others.to_string(),
        "free": row.free.to_string(),
        "stranded": row.stranded.to_string(),
        "unavailable": row.unavailable.to_string(),
        "unobserved": row.unobserved.to_string(),
        "capacity": row.capacity.to_string(),
    })
}

fn decimal(amount: Option<Amount>, currency: &Currency) -> Option<String> {
    amount.map(|amount| currency.decimal(amount))
}

pub(super) fn bytes(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("a tree of strings and integers serialises");
    bytes.push(b'\n');
    bytes
}
