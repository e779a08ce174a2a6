//! Fees and overheads: a calendar month's amount, by true hours where it holds for a part of the month.
//!
//! A month's parts are differences of cumulative floors in 1e-9 of the month, so that however a month is cut its parts sum
//! to one. A fee ends with its payer. A fee is new money on one statement; an overhead is a cost of the platform's own.

use super::Piece;
use crate::charge::{Charge, ChargeKind, Quantity, Unit};
use crate::instant::local;
use crate::money::{Currency, Exact, UnitPrice};
use crate::period::Period;
use crate::policy::{CostKind, Fee, FeePayer, FeePrice, Policies};
use crate::tenant::{TenantId, Tenants};
use chrono_tz::Tz;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeSet;

/// A whole month in its own unit.
const MONTH_NANO: i64 = 1_000_000_000;

/// The fees of a period; `users` are the tenants with usage in it.
pub fn fees(
    policies: &Policies,
    tenants: &Tenants,
    users: &BTreeSet<TenantId>,
    period: &Period,
    currency: &Currency,
) -> Vec<Charge> {
    let mut charges = Vec::new();
    for month in months(period) {
        for fee in &policies.fees {
            let Some(held) = fee.valid.within(month.part) else { continue };
            for payer in payers(fee, tenants, users, held) {
                let alive = tenants.get(&payer, held.start_ms).alive_in(held);
                charges.extend(alive.map(|alive| fee_of(fee, payer, &month, alive, currency)));
            }
        }
    }
    charges
}

/// The platform's own rows for overheads of a period.
pub fn overheads(policies: &Policies, period: &Period, currency: &Currency) -> Vec<Charge> {
    let mut charges = Vec::new();
    for month in months(period) {
        for overhead in &policies.overheads {
            let Some(held) = overhead.valid.within(month.part) else { continue };
            let nano = month.nano_of(held);
            let exact = month_price(nano, overhead.per_month);
            charges.push(Charge {
                tenant: TenantId::platform(),
                kind: ChargeKind::Fee,
                what: format!("overhead: {}, {}", overhead.what, month.name(held)),
                held: NanoGpuHours(0),
                quantity: Some(Quantity { nano, unit: Unit::Month }),
                unit_price: Some(overhead.per_month),
                exact,
                amount: exact.round_half_even(currency),
                reference: overhead.id.clone(),
                counterpart: None,
            });
        }
    }
    charges
}

/// The overheads of a period as pieces to allocate, cut where any policy changes.
pub fn overhead_pieces(policies: &Policies, period: &Period) -> Vec<Piece> {
    let cuts = policies.change_instants(period.window());
    let mut pieces = Vec::new();
    for month in months(period) {
        for overhead in &policies.overheads {
            let Some(held) = overhead.valid.within(month.part) else { continue };
            pieces.extend(held.cut_at(&cuts).into_iter().map(|segment| Piece {
                kind: CostKind::Overhead,
                from: TenantId::platform(),
                segment,
                cluster: String::new(),
                node: String::new(),
                what: overhead.what.clone(),
                line: format!("{} {}", overhead.id, month.whole.start_ms),
                held: NanoGpuHours(0),
                exact: Some(month_price(month.nano_of(segment), overhead.per_month)),
            }));
        }
    }
    pieces
}

/// A calendar month, and the part of it that lies in the period.
struct Month {
    whole: Window,
    part: Window,
    zone: Tz,
}

fn months(period: &Period) -> Vec<Month> {
    let (window, zone) = (period.window(), period.zone());
    let mut months = Vec::new();
    let mut at_ms = window.start_ms;
    while at_ms < window.end_ms {
        let month = Period::month_of(at_ms, zone).expect("a month of a period lies in its years");
        let whole = month.window();
        let part = whole.intersect(&window).expect("the month of an instant of the period");
        at_ms = whole.end_ms;
        months.push(Month { whole, part, zone });
    }
    months
}

impl Month {
    /// A part of it in 1e-9 months.
    fn nano_of(&self, part: Window) -> i64 {
        let before = |at_ms: i64| {
            let done = i128::from(at_ms - self.whole.start_ms) * i128::from(MONTH_NANO);
            done / i128::from(self.whole.len_ms())
        };
        i64::try_from(before(part.end_ms) - before(part.start_ms)).expect("at most a month")
    }

    /// `Sep 2026`, or from when to when.
    fn name(&self, part: Window) -> String {
        if part == self.whole {
            return local(part.start_ms, self.zone).format("%b %Y").to_string();
        }
        let show = |at_ms| local(at_ms, self.zone).format("%-d %b %Y %H:%M");
        format!("{} - {}", show(part.start_ms), show(part.end_ms))
    }
}

/// 1e-9 months times 1e-6 currency units is exact.
fn month_price(nano: i64, price: UnitPrice) -> Exact {
    Exact(i128::from(nano) * i128::from(price.0))
}

fn fee_of(fee: &Fee, tenant: TenantId, month: &Month, part: Window, currency: &Currency) -> Charge {
    let nano = month.nano_of(part);
    let (quantity, price) = match fee.price {
        FeePrice::PerMonth(price) => (Quantity { nano, unit: Unit::Month }, price),
        FeePrice::PerUnit { price, units } => (Quantity { nano: nano * units, unit: Unit::Piece }, price),
    };
    let exact = month_price(quantity.nano, price);
    Charge {
        tenant,
        kind: ChargeKind::Fee,
        what: format!("{}, {}", fee.what, month.name(part)),
        held: NanoGpuHours(0),
        quantity: Some(quantity),
        unit_price: Some(price),
        exact,
        amount: exact.round_half_even(currency),
        reference: fee.id.clone(),
        counterpart: None,
    }
}

/// Who pays: for everyone, declared tenants without tenants below them, and whoever else has usage.
fn payers(fee: &Fee, tenants: &Tenants, users: &BTreeSet<TenantId>, held: Window) -> BTreeSet<TenantId> {
    let FeePayer::Tenant(tenant) = &fee.payer else {
        let above: BTreeSet<&TenantId> =
            tenants.declared(held.start_ms).filter_map(|t| t.parent.as_ref()).collect();
        let leaves = tenants.declared(held.start_ms).map(|t| &t.id).filter(|id| !above.contains(id));
        return leaves.chain(users).filter(|id| !id.is_reserved()).cloned().collect();
    };
    [tenant.clone()].into()
}
