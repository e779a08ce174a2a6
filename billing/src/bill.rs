//! A period's bill put together: usage lines, what policies post besides them, what people posted, tax. Everything comes
//! in as values; what is made is the same however often and in whatever order.

use crate::charge::{Charge, ChargeKind, Quantity, Unit};
use crate::money::{Currency, Exact};
use crate::post::{self, Held, Ledger, OwnPrice, PostError};
use crate::rating::{Gathered, Line, LineKey, LinePrice, Rated, Rules, Sums};
use crate::statement::{self, Bill, Context, Converted, Statement};
use crate::tenant::TenantId;
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// What a tenant held of a device on a line, between change instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePiece {
    /// Whose.
    pub tenant: TenantId,
    /// The line.
    pub key: LineKey,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// Between two change instants, and within a local day where [`needs_days`] says so.
    pub segment: Window,
    /// What was summed.
    pub sums: Sums,
}

impl crate::opened::Piece for DevicePiece {
    fn key(&self) -> &LineKey {
        &self.key
    }

    fn sums(&self) -> &Sums {
        &self.sums
    }
}

/// Everything that a bill is made of.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Period, versions, status.
    pub context: &'a Context,
    /// Tenants and prices.
    pub rules: Rules<'a>,
    /// Of all amounts.
    pub currency: &'a Currency,
    /// The devices, in the segments of `pieces`.
    pub devices: &'a [DeviceTotal],
    /// Usage by device, where [`needs_pieces`] says that it is wanted.
    pub pieces: &'a [DevicePiece],
    /// What people posted, and corrections of closed periods.
    pub posted: &'a [Charge],
}

/// Whether usage by device is needed besides lines: for reservations, allocation and energy at a price.
pub fn needs_pieces(rules: Rules<'_>) -> bool {
    let policies = rules.prices.policies();
    !policies.reservations.is_empty() || !policies.allocations.is_empty() || rules.prices.charges_energy()
}

/// Whether that usage has to be cut at local midnights, too: reservations by count are settled by the day.
pub fn needs_days(rules: Rules<'_>) -> bool {
    rules
        .prices
        .policies()
        .reservations
        .iter()
        .any(|r| matches!(r.reserved, crate::policy::Reserved::Count { .. }))
}

/// The bill. `tenants` is usage by line.
///
/// # Errors
/// Ledgers that don't add up, or segments that a change cuts: defects upstream.
pub fn make(tenants: BTreeMap<TenantId, Gathered>, input: Input<'_>) -> Result<Bill, PostError> {
    let rated = Rated::of(tenants, input.devices, input.rules, input.currency);
    let mut charges = policies(&rated, input)?;
    charges.extend(rated.tenants.values().flat_map(|usage| basis_differences(&usage.lines, input.currency)));
    charges.extend_from_slice(input.posted);
    charges.extend(taxes(&rated, &charges, input));
    let mut bill = statement::prepare(input.context, &rated, charges, input.devices, input.rules.tenants);
    for statement in &mut bill.tenants {
        statement.converted = converted(statement, input);
    }
    Ok(bill)
}

/// A statement's total in its tenant's currency, at the rate that holds over the period.
fn converted(statement: &Statement, input: Input<'_>) -> Converted {
    let Some(own) = statement.tenant.currency.as_ref().filter(|own| *own != input.currency) else {
        return Converted::Same;
    };
    let window = input.context.period.window();
    match input.rules.prices.exchange_over(input.currency, own, window) {
        Err(_) => Converted::Missing,
        Ok(rate) => Converted::At {
            currency: own.clone(),
            amount: rate.amount(statement.totals.amount),
            rate: rate.describe(),
        },
    }
}

/// What reservations, fees, overheads, energy and allocation post.
fn policies(rated: &Rated, input: Input<'_>) -> Result<Vec<Charge>, PostError> {
    let (policies, tenants) = (input.rules.prices.policies(), input.rules.tenants);
    let period = &input.context.period;
    let users: BTreeSet<TenantId> = rated.tenants.keys().filter(|id| !id.is_reserved()).cloned().collect();
    let mut charges = post::fee::fees(policies, tenants, &users, period, input.currency);
    charges.extend(post::fee::overheads(policies, period, input.currency));
    charges.extend(energy(input));
    if policies.reservations.is_empty() && policies.allocations.is_empty() {
        return Ok(charges);
    }
    let held: Vec<Held> = input.pieces.iter().map(held).collect();
    let ledger = Ledger { policies, tenants, held: &held, devices: input.devices, currency: input.currency };
    let settled = post::reservation::settle(&ledger, |device| own_price(device, input.rules))?;
    charges.extend(settled.charges);
    let statements: BTreeSet<TenantId> = charges
        .iter()
        .map(|charge| &charge.tenant)
        .chain(rated.tenants.keys())
        .filter(|id| !id.is_reserved())
        .cloned()
        .collect();
    let mut pieces = settled.pieces;
    pieces.extend(post::shared(&ledger));
    pieces.extend(post::fee::overhead_pieces(policies, period));
    let allocate = post::allocation::Allocate {
        ledger,
        pieces: &pieces,
        reserved: &settled.reserved,
        statements: &statements,
    };
    charges.extend(allocate.charges()?);
    Ok(charges)
}

fn held(piece: &DevicePiece) -> Held {
    Held {
        segment: piece.segment,
        cluster: piece.cluster.clone(),
        node: piece.node.clone(),
        device: piece.device.clone(),
        model: piece.model.clone(),
        tenant: piece.tenant.clone(),
        line: serde_json::to_string(&piece.key).expect("a key of strings and integers serialises"),
        held: piece.sums.held,
        exact: piece.key.price.cost_of(&piece.sums),
    }
}

fn own_price(device: &DeviceTotal, rules: Rules<'_>) -> Option<OwnPrice> {
    match rules.own_price(device) {
        LinePrice::Priced(rate) => Some(OwnPrice { entry: rate.entry, per_gpu_hour: rate.price }),
        LinePrice::Unpriced(_) => None,
    }
}

/// Energy at its price, by tenant and entry; none where energy is only shown.
fn energy(input: Input<'_>) -> Vec<Charge> {
    let mut sums: BTreeMap<(&TenantId, &str), (i64, &crate::price::Energy)> = BTreeMap::new();
    for piece in input.pieces.iter().filter(|piece| !piece.tenant.is_reserved()) {
        let energy = input.rules.prices.energy(&piece.cluster, piece.segment.start_ms);
        let Some(energy) = energy.filter(|energy| energy.per_kwh.is_some()) else { continue };
        sums.entry((&piece.tenant, &energy.id)).or_insert((0, energy)).0 += piece.sums.energy_mj;
    }
    let charge = |((tenant, _), (mj, energy)): ((&TenantId, &str), (i64, &crate::price::Energy))| {
        let nano = energy.nano_kwh(mj);
        let exact = energy.cost(nano);
        let emitted = energy.mg_co2e(nano).map(|mg| format!(", {} g CO2e", mg / 1_000)).unwrap_or_default();
        Charge {
            tenant: tenant.clone(),
            kind: ChargeKind::Energy,
            what: format!("energy with the site's overhead{emitted}"),
            held: NanoGpuHours(0),
            quantity: Some(Quantity { nano, unit: Unit::KilowattHour }),
            unit_price: energy.per_kwh,
            exact,
            amount: exact.round_half_even(input.currency),
            reference: energy.id.clone(),
            counterpart: None,
        }
    };
    sums.into_iter().map(charge).collect()
}

/// What lines charge beyond, or short of, the time that was held: the platform keeps the difference, so that all statements
/// together still cost the devices.
fn basis_differences(lines: &[Line], currency: &Currency) -> Vec<Charge> {
    let charged_otherwise = lines
        .iter()
        .filter(|line| line.sums.charged != line.sums.held && line.quantity.unit == Unit::GpuHour);
    let mut sums: BTreeMap<(&str, &crate::price::Rate), (NanoGpuHours, String)> = BTreeMap::new();
    for line in charged_otherwise {
        let Some(rate) = line.key.price.rate() else { continue };
        let sum = sums.entry((&line.key.model, rate)).or_default();
        sum.0 = sum.0 + line.sums.held - line.sums.charged;
        sum.1 = line.key.basis.charged.to_string();
    }
    let charge =
        |((model, rate), (difference, basis)): ((&str, &crate::price::Rate), (NanoGpuHours, String))| {
            let exact = Exact::of(difference, rate.price);
            Charge {
                tenant: TenantId::platform(),
                kind: ChargeKind::BasisDifference,
                what: format!("{}, held less charged by {basis}", crate::words::short_model(model)),
                held: NanoGpuHours(0),
                quantity: Some(Quantity::gpu_hours(difference)),
                unit_price: Some(rate.price),
                exact,
                amount: exact.round_half_even(currency),
                reference: rate.entry.clone(),
                counterpart: None,
            }
        };
    sums.into_iter().map(charge).collect()
}

fn taxes(rated: &Rated, charges: &[Charge], input: Input<'_>) -> Vec<Charge> {
    let policies = input.rules.prices.policies();
    if policies.taxes.is_empty() {
        return Vec::new();
    }
    let mut by_tenant: BTreeMap<&TenantId, Vec<Charge>> = BTreeMap::new();
    for charge in charges {
        by_tenant.entry(&charge.tenant).or_default().push(charge.clone());
    }
    for tenant in rated.tenants.keys() {
        by_tenant.entry(tenant).or_default();
    }
    let taxable: Vec<post::tax::Taxable<'_>> = by_tenant
        .iter()
        .map(|(tenant, charges)| post::tax::Taxable {
            tenant,
            usage: rated
                .tenants
                .get(*tenant)
                .map_or_else(Default::default, |usage| usage.lines.iter().filter_map(|l| l.amount).sum()),
            charges,
        })
        .collect();
    post::tax::taxes(policies, input.rules.tenants, &taxable, input.context.period.window(), input.currency)
}
