//! What a closed period would be now: row by row, what was posted (with the corrections made since) against what would be
//! posted today. The differences become correction rows, on every statement that they touch.

use crate::charge::{Charge, ChargeKind, Quantity};
use crate::money::{Amount, Currency, UnitPrice};
use crate::statement::Bill;
use crate::tenant::TenantId;
use crate::words;
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What makes two rows of two versions of a statement the same: whose, and everything but quantity and amount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowId {
    /// On whose statement.
    pub tenant: TenantId,
    /// The line's key, or the charge's kind, words and reference.
    pub row: String,
}

/// How a row differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Which row.
    pub id: RowId,
    /// Its number on the closed statement: `VIS-2026-08-L3`; the statement's own where the row is new.
    pub reference: String,
    /// What it is, for people.
    pub what: String,
    /// Device time more or less.
    pub held: NanoGpuHours,
    /// Priced quantity more or less, where there is one.
    pub quantity: Option<Quantity>,
    /// Its price.
    pub unit_price: Option<UnitPrice>,
    /// Money more or less.
    pub amount: Amount,
}

/// Correction rows with what they correct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The closed period.
    pub period: String,
    /// What differed.
    pub deltas: Vec<Delta>,
}

/// What now differs from a closed bill and the corrections made of it since; in the order of tenants and rows.
pub fn diff(closed: &Bill, corrected: &[Correction], now: &Bill) -> Vec<Delta> {
    let mut rows: BTreeMap<RowId, Delta> = BTreeMap::new();
    for mut row in rows_of(now) {
        if let Some(old) = closed_number(closed, &row.id.tenant) {
            row.reference = old;
        }
        rows.insert(row.id.clone(), row);
    }
    for row in rows_of(closed).chain(corrected.iter().flat_map(|c| c.deltas.iter().cloned())) {
        let known = rows.entry(row.id.clone()).or_insert_with(|| Delta {
            held: NanoGpuHours(0),
            quantity: row.quantity.map(|q| Quantity { nano: 0, ..q }),
            amount: Amount(0),
            ..row.clone()
        });
        known.held = known.held - row.held;
        known.amount = known.amount - row.amount;
        if let (Some(known), Some(row)) = (&mut known.quantity, row.quantity) {
            known.nano -= row.nano;
        }
        known.reference = row.reference;
    }
    let differs =
        |d: &Delta| d.held.0 != 0 || d.amount.0 != 0 || d.quantity.is_some_and(|quantity| quantity.nano != 0);
    rows.into_values().filter(differs).collect()
}

/// The rows that correct differences, for the statements of an open period.
pub fn corrections(deltas: &[Delta], reason: &str, currency: &Currency) -> Vec<Charge> {
    let charge = |delta: &Delta| Charge {
        tenant: delta.id.tenant.clone(),
        kind: ChargeKind::Correction,
        what: format!("of {}: {}: {reason}", delta.reference, delta.what),
        held: delta.held,
        quantity: delta.quantity,
        unit_price: delta.unit_price,
        exact: delta.amount.exact(currency),
        amount: delta.amount,
        reference: delta.reference.clone(),
        counterpart: None,
    };
    deltas.iter().map(charge).collect()
}

fn closed_number(closed: &Bill, tenant: &TenantId) -> Option<String> {
    closed.tenants.iter().find(|s| s.tenant.id == *tenant).map(|s| s.number.clone())
}

/// Every posted row of a bill, as a difference from nothing.
fn rows_of(bill: &Bill) -> impl Iterator<Item = Delta> {
    let line = |tenant: &TenantId, number: &str, line: &crate::rating::Line| Delta {
        id: row_id(tenant, format!("line {}", json(&line.key))),
        reference: format!("{number}-L{}", line.number),
        what: words::line_what(&line.key),
        held: line.sums.held,
        quantity: Some(line.quantity),
        unit_price: line.key.price.unit(),
        amount: line.amount.unwrap_or_default(),
    };
    let charge = |tenant: &TenantId, number: &str, row: &crate::post::Numbered| {
        let charge = &row.charge;
        let id = (charge.kind, &charge.what, &charge.reference, &charge.counterpart);
        Delta {
            id: row_id(tenant, format!("charge {}", json(&id))),
            reference: format!("{number}-{}", row.number),
            what: format!("{}: {}", charge.kind.word(), charge.what),
            held: charge.held,
            quantity: charge.quantity,
            unit_price: charge.unit_price,
            amount: charge.amount,
        }
    };
    let mut rows = Vec::new();
    for statement in &bill.tenants {
        let (tenant, number) = (&statement.tenant.id, &statement.number);
        rows.extend(statement.lines.iter().map(|l| line(tenant, number, l)));
        rows.extend(statement.charges.iter().map(|c| charge(tenant, number, c)));
    }
    let (platform, number) = (TenantId::platform(), &bill.platform.number);
    rows.extend(bill.platform.unattributed.iter().map(|l| line(&TenantId::unattributed(), number, l)));
    rows.extend(bill.platform.charges.iter().map(|c| charge(&platform, number, c)));
    rows.extend(bill.platform.lines.iter().map(|l| Delta {
        id: row_id(&platform, format!("capacity {}", json(&(&l.model, l.kind, &l.price)))),
        reference: format!("{number}-P{}", l.number),
        what: format!("{} {}", words::short_model(&l.model), l.kind.word()),
        held: l.quantity,
        quantity: Some(Quantity::gpu_hours(l.quantity)),
        unit_price: l.price.unit(),
        amount: l.amount.unwrap_or_default(),
    }));
    rows.into_iter()
}

fn row_id(tenant: &TenantId, row: String) -> RowId {
    RowId { tenant: tenant.clone(), row }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers serialise")
}
