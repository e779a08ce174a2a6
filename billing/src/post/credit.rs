//! Credits for lost work, proposed by rule and posted by a person's approval.
//!
//! A failure ends what ran on its device or node. Each workload that held it up to the failure lost what it had held since
//! it last stopped, on all of its devices, and a rule credits that up to a number of hours, at the prices that it was
//! charged.

use crate::charge::{Charge, ChargeKind, Quantity, Unit};
use crate::instant::local;
use crate::money::{Amount, Currency, Exact, UnitPrice};
use crate::place::hash_of;
use crate::policy::{CreditRule, FailureReason, Policies};
use crate::split::share_of;
use crate::tenant::TenantId;
use chrono_tz::Tz;
use schema::id::WorkloadId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

mod cut;
pub use cut::cut;

/// Failures that hit a workload within this time are one loss: the devices of a node fail seconds apart, and a card falls
/// off the bus soon after its XID.
const ONE_LOSS_MS: i64 = 10 * 60_000;

/// Hexadecimal digits of a proposal's id: short enough to be typed.
const ID_DIGITS: usize = 12;

/// A device that failed, by itself or with its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Cluster of the node.
    pub cluster: String,
    /// The node.
    pub node: String,
    /// The device, by UUID.
    pub device: String,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Why.
    pub reason: FailureReason,
    /// In words for people: `XID 79`; empty where the reason says it all.
    pub detail: String,
    /// The workloads that held it up to the failure.
    pub holders: BTreeSet<WorkloadId>,
}

/// What a workload held of a device in an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHeld {
    /// The hour, or the piece of it.
    pub segment: Window,
    /// NVML UUID.
    pub device: String,
    /// The workload.
    pub workload: WorkloadId,
    /// What people call it: `job 88121`.
    pub job: String,
    /// Whose it was.
    pub tenant: TenantId,
    /// Time for which it was held, milliseconds.
    pub natural_ms: i64,
    /// What the price was multiplied with.
    pub quantity: Quantity,
    /// The price of one of it; `None` where there is none, and nothing to credit.
    pub unit_price: Option<UnitPrice>,
}

/// A credit that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The same for the same failure and workload, whatever they cost: proposing again proposes nothing new.
    pub id: String,
    /// The failure.
    pub failure: Failure,
    /// What was lost.
    pub workload: WorkloadId,
    /// By tenant and price, the credit and the platform's side of it.
    pub charges: Vec<Charge>,
}

/// Lost quantities of one workload: of one tenant, unit and price.
type Lost<'a> = BTreeMap<(&'a TenantId, Unit, UnitPrice), (i64, &'a str)>;

/// What the rules propose for failures, by time. `rows` are what the failures' holders held before them, of all devices
/// that each held, in any order, cut at the failures ([`cut`]).
pub fn propose(
    policies: &Policies,
    failures: &[Failure],
    rows: &[WorkHeld],
    zone: Tz,
    currency: &Currency,
) -> Vec<Proposal> {
    let mut by_workload: BTreeMap<WorkloadId, Vec<&WorkHeld>> = BTreeMap::new();
    for row in rows {
        by_workload.entry(row.workload).or_default().push(row);
    }
    let mut proposals = Vec::new();
    for (workload, rows) in by_workload {
        // The same hours are never credited for two failures.
        let mut after_ms = i64::MIN;
        for (rule, at_ms, failure) in losses(policies, failures, workload) {
            let lost = lost(rule, at_ms, &rows, after_ms);
            after_ms = at_ms;
            let id = failure.id_of(at_ms, workload);
            let pairs = lost.into_iter().map(|lost| pair(rule, &id, (failure, at_ms), lost, zone, currency));
            let charges: Vec<Charge> = pairs.filter(|pair| pair[0].amount != Amount(0)).flatten().collect();
            if !charges.is_empty() {
                let failure = Failure { at_ms, ..failure.clone() };
                proposals.push(Proposal { id, failure, workload, charges });
            }
        }
    }
    proposals.sort_by_key(|proposal| (proposal.failure.at_ms, proposal.workload));
    proposals
}

/// What hit a workload and a rule credits, by time: of failures that are one loss the instant is the first's, and the name
/// the XID's, if there is one.
fn losses<'a>(
    policies: &'a Policies,
    failures: &'a [Failure],
    workload: WorkloadId,
) -> Vec<(&'a CreditRule, i64, &'a Failure)> {
    let mut hit: Vec<(&CreditRule, &Failure)> = failures
        .iter()
        .filter(|failure| failure.holders.contains(&workload))
        .filter_map(|failure| {
            let rule = policies.credit_rule_at(failure.at_ms)?;
            rule.reasons.contains(&failure.reason).then_some((rule, failure))
        })
        .collect();
    hit.sort_by_key(|(_, f)| (f.at_ms, f.reason, &f.cluster, &f.node, &f.device));
    let mut losses: Vec<(&CreditRule, i64, &Failure)> = Vec::new();
    for (rule, failure) in hit {
        match losses.last_mut().filter(|(_, at_ms, _)| failure.at_ms - *at_ms <= ONE_LOSS_MS) {
            Some((_, _, name)) if name.reason == FailureReason::FatalXid => {}
            Some((_, _, name)) if failure.reason == FailureReason::FatalXid => *name = failure,
            Some(_) => {}
            None => losses.push((rule, failure.at_ms, failure)),
        }
    }
    losses
}

impl Failure {
    /// The name of a loss that began at an instant: no price and no mapping changes it.
    fn id_of(&self, at_ms: i64, workload: WorkloadId) -> String {
        let named = format!("{}/{}/{at_ms}/{workload}", self.cluster, self.node);
        hash_of(&named)[..ID_DIGITS].to_owned()
    }
}

/// What was held without a break up to the failure, on each device, up to the rule's hours.
fn lost<'a>(rule: &CreditRule, at_ms: i64, rows: &[&'a WorkHeld], after_ms: i64) -> Lost<'a> {
    let mut by_device: BTreeMap<&str, Vec<&WorkHeld>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.segment.start_ms < at_ms && r.segment.start_ms >= after_ms) {
        by_device.entry(&row.device).or_default().push(row);
    }
    let mut lost: Lost<'a> = BTreeMap::new();
    for rows in by_device.values_mut() {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.segment.start_ms), &row.tenant, row.unit_price));
        let mut edge_ms = at_ms;
        let mut left_ms = rule.cap_hours * HOUR_MS;
        for row in rows {
            if row.segment.end_ms < edge_ms || left_ms == 0 {
                break;
            }
            // What it held of the failure's hour it held before the failure.
            let natural_ms = row.natural_ms.min(at_ms - row.segment.start_ms);
            let counted_ms = natural_ms.min(left_ms);
            left_ms -= counted_ms;
            edge_ms = row.segment.start_ms;
            let Some(price) = row.unit_price.filter(|_| counted_ms > 0) else { continue };
            let whole = i128::from(row.quantity.nano);
            let part = share_of(whole, NanoGpuHours(counted_ms), NanoGpuHours(natural_ms));
            let part = i64::try_from(part).expect("a part of what was charged");
            let key = (&row.tenant, row.quantity.unit, price);
            lost.entry(key).or_insert((0, &row.job)).0 += part;
        }
    }
    lost
}

fn pair(
    rule: &CreditRule,
    id: &str,
    (failure, at_ms): (&Failure, i64),
    ((tenant, unit, unit_price), (nano, job)): ((&TenantId, Unit, UnitPrice), (i64, &str)),
    zone: Tz,
    currency: &Currency,
) -> [Charge; 2] {
    let when = local(at_ms, zone).format("%-d %b %Y %H:%M");
    let why = match failure.detail.as_str() {
        "" => failure.reason.words(),
        detail => detail,
    };
    let what = format!("{why}, {when}, {job}, capped at {} h", rule.cap_hours);
    let quantity = Quantity { nano, unit };
    let exact = Exact::times(quantity, unit_price);
    let amount = exact.round_half_even(currency);
    let row = |of: &TenantId, sign: i64, other: TenantId| Charge {
        tenant: of.clone(),
        kind: ChargeKind::Credit,
        what: what.clone(),
        held: NanoGpuHours(0),
        quantity: Some(Quantity { nano: sign * nano, unit }),
        unit_price: Some(unit_price),
        exact: Exact(i128::from(sign) * exact.0),
        amount: Amount(sign * amount.0),
        reference: id.to_owned(),
        counterpart: Some(other),
    };
    let platform = TenantId::platform();
    [row(tenant, -1, platform.clone()), row(&platform, 1, tenant.clone())]
}
