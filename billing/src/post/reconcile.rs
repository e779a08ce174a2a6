//! Reconciliation: the difference between a real invoice and the ledger, as rows of its own. Original lines stay as they
//! were; nothing is scaled in silence.

use crate::charge::{Charge, ChargeKind};
use crate::money::{Amount, Currency};
use crate::split::split;
use crate::tenant::TenantId;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// A real invoice for a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    /// Its number and who wrote it, in words for people.
    pub name: String,
    /// What it comes to, in the ledger's currency.
    pub total: Amount,
}

/// Who takes the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference<'a> {
    /// The platform.
    Platform,
    /// Tenants, in proportion to the cost that their statements post; those that post less than nothing take none.
    ByCost(&'a BTreeMap<TenantId, Amount>),
}

/// The rows that take the ledger's total of a period to an invoice's; none where they agree.
pub fn reconcile(
    invoice: &Invoice,
    ledger_total: Amount,
    difference: &Difference<'_>,
    currency: &Currency,
) -> Vec<Charge> {
    let total = invoice.total - ledger_total;
    if total.0 == 0 {
        return Vec::new();
    }
    let compared = format!(
        "difference to invoice {} of {}, ledger {}",
        invoice.name,
        currency.show(invoice.total),
        currency.show(ledger_total)
    );
    let row = |tenant: &TenantId, amount: Amount, method: &str| Charge {
        tenant: tenant.clone(),
        kind: ChargeKind::Reconciliation,
        what: format!("{compared}, {method}"),
        held: NanoGpuHours(0),
        quantity: None,
        unit_price: None,
        exact: amount.exact(currency),
        amount,
        reference: invoice.name.clone(),
        counterpart: None,
    };
    let platform = TenantId::platform();
    let Difference::ByCost(costs) = difference else {
        return vec![row(&platform, total, "kept by the platform")];
    };
    let takers: Vec<(&TenantId, u128)> = costs
        .iter()
        .filter(|(tenant, cost)| cost.0 > 0 && !tenant.is_reserved())
        .map(|(tenant, cost)| (tenant, u128::from(cost.0.unsigned_abs())))
        .collect();
    if takers.is_empty() {
        return vec![row(&platform, total, "kept by the platform: no tenant has cost to share it by")];
    }
    let weights: Vec<u128> = takers.iter().map(|(_, weight)| *weight).collect();
    let parts = takers.iter().zip(split(total.0, &weights)).filter(|(_, part)| *part != 0);
    parts.map(|((tenant, _), part)| row(tenant, Amount(part), "shared out by cost")).collect()
}
