//! Tax: a percentage of everything that a statement posts besides tax, rounded once; never tax on tax.
//!
//! A tenant's own taxes come before those of the tenant above it, and those before everyone's. What holds at a period's
//! last instant taxes the whole period. A reverse charge is a row of nothing that says who accounts for it.

use crate::charge::{Charge, ChargeKind};
use crate::money::{Amount, Currency, Exact};
use crate::policy::{Policies, Tax, TaxRate, Taxpayer};
use crate::tenant::{TenantId, Tenants};
use schema::units::NanoGpuHours;
use schema::window::Window;

/// A statement to tax.
#[derive(Debug, Clone, Copy)]
pub struct Taxable<'a> {
    /// Whose.
    pub tenant: &'a TenantId,
    /// What its usage lines post.
    pub usage: Amount,
    /// All of its charges; those of tax are left out of the base.
    pub charges: &'a [Charge],
}

/// The tax rows of statements of a period.
pub fn taxes(
    policies: &Policies,
    tenants: &Tenants,
    statements: &[Taxable<'_>],
    period: Window,
    currency: &Currency,
) -> Vec<Charge> {
    let mut charges = Vec::new();
    for statement in statements.iter().filter(|s| !s.tenant.is_reserved()) {
        let besides = statement.charges.iter().filter(|c| c.kind != ChargeKind::Tax);
        let base = statement.usage + besides.map(|c| c.amount).sum();
        for tax in taxes_of(policies, tenants, statement.tenant, period.end_ms - 1) {
            charges.push(tax_on(tax, statement.tenant, base, currency));
        }
    }
    charges
}

/// The nearest taxes up the tree, else everyone's.
fn taxes_of<'a>(policies: &'a Policies, tenants: &Tenants, tenant: &TenantId, at_ms: i64) -> Vec<&'a Tax> {
    let of = |payer: &Taxpayer| -> Vec<&'a Tax> {
        policies.taxes.iter().filter(|tax| tax.payer == *payer && tax.valid.holds_at(at_ms)).collect()
    };
    let own = tenants.ancestors(tenant, at_ms).into_iter().map(|id| of(&Taxpayer::Tenant(id)));
    own.chain([of(&Taxpayer::Everyone)]).find(|found| !found.is_empty()).unwrap_or_default()
}

fn tax_on(tax: &Tax, tenant: &TenantId, base: Amount, currency: &Currency) -> Charge {
    let (what, exact) = match tax.rate {
        TaxRate::Percent(percent) => {
            // A posted amount has at most 3 of 15 decimals, so a percentage of 6 decimals leaves no rest.
            let exact = base.exact(currency).0 / 100_000_000 * i128::from(percent.0);
            let rate = percent.to_string();
            let rate = rate.strip_suffix(".00").unwrap_or(&rate);
            (format!("{} {rate} % of {}", tax.what, currency.show(base)), Exact(exact))
        }
        TaxRate::ReverseCharge => {
            (format!("{}: reverse charge, the recipient accounts for it", tax.what), Exact::ZERO)
        }
    };
    Charge {
        tenant: tenant.clone(),
        kind: ChargeKind::Tax,
        what,
        held: NanoGpuHours(0),
        quantity: None,
        unit_price: None,
        exact,
        amount: exact.round_half_even(currency),
        reference: tax.id.clone(),
        counterpart: None,
    }
}
