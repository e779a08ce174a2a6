//! What reservations took, as charges: one for each reservation, model and other side.

use crate::charge::{Charge, ChargeKind, Quantity};
use crate::money::{Amount, Currency, Exact, UnitPrice};
use crate::policy::{CostKind, Reservation};
use crate::post::sum::Sum;
use crate::post::{Held, OwnPrice, ReservedTime};
use crate::tenant::TenantId;
use crate::usage::DeviceTotal;
use crate::words;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeMap;

type ByModel<'a> = (&'a str, &'a str);
type ByPrice<'a> = (&'a str, CostKind, &'a str, Option<OwnPrice>);
type ByTenant<'a> = (&'a str, &'a str, &'a TenantId);
type BySite<'a> = (&'a str, Window, &'a str, &'a str, &'a str);

/// Sums over the period; every key begins with the reservation's id.
#[derive(Default)]
pub(super) struct Taken<'a> {
    unused: BTreeMap<ByModel<'a>, NanoGpuHours>,
    from_platform: BTreeMap<ByPrice<'a>, NanoGpuHours>,
    lent: BTreeMap<ByTenant<'a>, Sum>,
    own: BTreeMap<ByTenant<'a>, Sum>,
    charged: BTreeMap<BySite<'a>, NanoGpuHours>,
    reservations: BTreeMap<&'a str, &'a Reservation>,
}

impl<'a> Taken<'a> {
    pub fn unused(
        &mut self,
        of: &'a Reservation,
        device: &'a DeviceTotal,
        kind: CostKind,
        price: Option<&OwnPrice>,
        time: NanoGpuHours,
    ) {
        let sum = self.unused.entry((&of.id, &device.model)).or_default();
        *sum = *sum + time;
        let sum = self.from_platform.entry((&of.id, kind, &device.model, price.cloned())).or_default();
        *sum = *sum + time;
        self.charged(of, device, time);
    }

    pub fn lent(
        &mut self,
        of: &'a Reservation,
        device: &'a DeviceTotal,
        row: &'a Held,
        time: NanoGpuHours,
        exact: Option<Exact>,
    ) {
        self.lent.entry((&of.id, &device.model, &row.tenant)).or_default().add(&row.line, time, exact);
        self.charged(of, device, time);
    }

    pub fn own(
        &mut self,
        of: &'a Reservation,
        device: &'a DeviceTotal,
        row: &'a Held,
        time: NanoGpuHours,
        exact: Option<Exact>,
    ) {
        self.own.entry((&of.id, &device.model, &row.tenant)).or_default().add(&row.line, time, exact);
        self.charged(of, device, time);
    }

    pub fn charged(&mut self, of: &'a Reservation, device: &'a DeviceTotal, time: NanoGpuHours) {
        self.reservations.insert(&of.id, of);
        let key: BySite<'a> =
            (&of.id, device.segment, device.cluster.as_str(), device.node.as_str(), device.model.as_str());
        let sum = self.charged.entry(key).or_default();
        *sum = *sum + time;
    }

    /// The charges, and the reserved time that they are for.
    pub fn close(self, currency: &Currency) -> (Vec<Charge>, Vec<ReservedTime>) {
        let mut charges = Vec::new();
        for ((id, model), time) in &self.unused {
            let of = self.reservations[id];
            let what = format!("{} reserved, unused", words::short_model(model));
            let at_price = at_price(&of.tenant, of, what, *time, Some(of.per_gpu_hour), currency);
            charges.push(Charge { counterpart: Some(TenantId::platform()), ..at_price });
        }
        for ((id, kind, model, price), time) in &self.from_platform {
            let of = self.reservations[id];
            let what = format!("{} {}, reserved by {}", kind.word(), words::short_model(model), of.tenant);
            let price = price.as_ref().map(|p| p.per_gpu_hour);
            let away = NanoGpuHours(-time.0);
            let at_price = at_price(&TenantId::platform(), of, what, away, price, currency);
            charges.push(Charge { counterpart: Some(of.tenant.clone()), ..at_price });
        }
        for ((id, model, borrower), sum) in &self.lent {
            let (of, model) = (self.reservations[id], words::short_model(model));
            let what = format!("{model} reserved, lent to {borrower}");
            let at_price = at_price(&of.tenant, of, what, sum.held(), Some(of.per_gpu_hour), currency);
            charges.push(Charge { counterpart: Some((*borrower).clone()), ..at_price });
            let what = format!("{model} reserved, lent to {borrower}: less its charge{}", without_price(sum));
            let back = back(&of.tenant, of, what, sum, currency);
            charges.push(Charge { counterpart: Some((*borrower).clone()), ..back });
        }
        for ((id, model, user), sum) in &self.own {
            let (of, model) = (self.reservations[id], words::short_model(model));
            let what = format!("{model} reserved, used");
            charges.push(at_price(user, of, what, sum.held(), Some(of.per_gpu_hour), currency));
            let what = format!("{model} reserved, used: less its usage lines{}", without_price(sum));
            charges.push(back(user, of, what, sum, currency));
        }
        let reserved = self.charged.into_iter().map(|((id, segment, cluster, node, model), hours)| {
            let tenant = self.reservations[id].tenant.clone();
            ReservedTime {
                tenant,
                segment,
                cluster: cluster.into(),
                node: node.into(),
                model: model.into(),
                hours,
            }
        });
        (charges, reserved.collect())
    }
}

fn without_price(sum: &Sum) -> String {
    if sum.unpriced.0 == 0 {
        return String::new();
    }
    format!(" ({} GPU-hours of it have no price)", words::gpu_hours_short(sum.unpriced))
}

/// Time at a price; without one it is worth nothing that is known.
fn at_price(
    tenant: &TenantId,
    of: &Reservation,
    what: String,
    held: NanoGpuHours,
    unit_price: Option<UnitPrice>,
    currency: &Currency,
) -> Charge {
    let exact = unit_price.map_or(Exact::ZERO, |price| Exact::of(held, price));
    Charge {
        tenant: tenant.clone(),
        kind: ChargeKind::Reservation,
        what,
        held,
        quantity: Some(Quantity::gpu_hours(held)),
        unit_price,
        exact,
        amount: exact.round_half_even(currency),
        reference: of.id.clone(),
        counterpart: None,
    }
}

/// The cost of other lines, given back.
fn back(tenant: &TenantId, of: &Reservation, what: String, sum: &Sum, currency: &Currency) -> Charge {
    let amount: Amount = -sum.amount(currency);
    Charge {
        tenant: tenant.clone(),
        kind: ChargeKind::Reservation,
        what,
        held: NanoGpuHours(-sum.held().0),
        quantity: Some(Quantity::gpu_hours(NanoGpuHours(-sum.held().0))),
        unit_price: None,
        exact: -sum.exact(),
        amount,
        reference: of.id.clone(),
        counterpart: None,
    }
}
