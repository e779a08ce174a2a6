//! Credits for lost work, proposed by rule and posted by a person's approval.
//!
//! A failure ends what ran on its device or node. Each workload that held it up to the failure lost what it had held since
//! it last stopped, on all of its devices, and a rule credits that up to a number of hours, at the prices that it was
//! charged.

use crate::charge::{Charge, ChargeKind, Quantity, Unit};
use crate::instant::local;
use crate::money::{Currency, Exact, UnitPrice};
use crate::policy::{CreditRule, FailureReason, Policies};
use crate::split::share_of;
use crate::tenant::TenantId;
use chrono_tz::Tz;
use schema::id::WorkloadId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// A device or node that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Cluster of the node.
    pub cluster: String,
    /// The node.
    pub node: String,
    /// The device, by UUID; `None` for every device of the node.
    pub device: Option<String>,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Why.
    pub reason: FailureReason,
    /// In words for people: `XID 79`.
    pub detail: String,
}

/// What a workload held of a device in an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHeld {
    /// The hour, or the piece of it.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// The workload.
    pub workload: WorkloadId,
    /// What people call it: `job 88121`.
    pub job: String,
    /// Whose it was.
    pub tenant: TenantId,
    /// The line that it was charged on.
    pub line: String,
    /// Time for which it was held, milliseconds.
    pub natural_ms: i64,
    /// Device time held.
    pub held: NanoGpuHours,
    /// The price of the line; `None` where there is none, and nothing to credit.
    pub unit_price: Option<UnitPrice>,
}

/// A credit that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The same for the same failure, workload and line: proposing again proposes nothing new.
    pub id: String,
    /// The failure.
    pub failure: Failure,
    /// What was lost.
    pub workload: WorkloadId,
    /// The line that charged it.
    pub line: String,
    /// The credit, and the platform's side of it.
    pub charges: Vec<Charge>,
}

/// Lost time of one workload: of one tenant, line and price.
type Lost<'a> = BTreeMap<(&'a TenantId, &'a str, UnitPrice), (NanoGpuHours, &'a str)>;

/// What the rules propose for failures. `rows` are what workloads held before them, of all devices that each workload
/// held, in any order. Failures of one node and its devices at once are one loss: of several the first in time counts.
pub fn propose(
    policies: &Policies,
    failures: &[Failure],
    rows: &[WorkHeld],
    zone: Tz,
    currency: &Currency,
) -> Vec<Proposal> {
    let mut failures: Vec<&Failure> = failures.iter().collect();
    failures.sort_by_key(|f| (f.at_ms, f.reason, &f.cluster, &f.node, &f.device));
    let mut by_workload: BTreeMap<WorkloadId, Vec<&WorkHeld>> = BTreeMap::new();
    for row in rows {
        by_workload.entry(row.workload).or_default().push(row);
    }
    let mut credited: BTreeSet<(WorkloadId, i64)> = BTreeSet::new();
    let mut proposals = Vec::new();
    for failure in failures {
        let rule = policies.credit_rule_at(failure.at_ms).filter(|r| r.reasons.contains(&failure.reason));
        let Some(rule) = rule else { continue };
        for (workload, rows) in &by_workload {
            let hit = rows.iter().any(|row| failure.hits(row));
            // The same hours are never credited for two failures.
            let before = credited.range((*workload, i64::MIN)..=(*workload, i64::MAX)).next_back();
            let after_ms = before.map_or(i64::MIN, |(_, at_ms)| *at_ms);
            if !hit || after_ms >= failure.at_ms {
                continue;
            }
            let lost = lost(rule, failure, rows, after_ms);
            credited.insert((*workload, failure.at_ms));
            for ((tenant, line, price), (time, job)) in lost {
                let charges = charges(rule, failure, (tenant, job, time, price), zone, currency);
                let id = format!("{}/{}/{workload}/{line}/{price}", rule.id, failure.at_ms);
                let (failure, line) = (failure.clone(), line.to_string());
                proposals.push(Proposal { id, failure, workload: *workload, line, charges });
            }
        }
    }
    proposals
}

impl Failure {
    /// Whether a row was held on what failed, up to the failure.
    fn hits(&self, row: &WorkHeld) -> bool {
        let here = row.cluster == self.cluster && row.node == self.node;
        let device = self.device.as_ref().is_none_or(|device| *device == row.device);
        here && device && row.held.0 > 0 && touches(row.segment, self.at_ms)
    }
}

/// Whether a segment reaches an instant: it holds it, or ends with it.
fn touches(segment: Window, at_ms: i64) -> bool {
    segment.start_ms < at_ms && at_ms <= segment.end_ms
}

/// What was held without a break up to the failure, on each device, up to the rule's hours.
fn lost<'a>(rule: &CreditRule, failure: &Failure, rows: &[&'a WorkHeld], after_ms: i64) -> Lost<'a> {
    let mut by_device: BTreeMap<&str, Vec<&WorkHeld>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.segment.start_ms < failure.at_ms && r.segment.start_ms >= after_ms) {
        by_device.entry(&row.device).or_default().push(row);
    }
    let mut lost: Lost<'a> = BTreeMap::new();
    for rows in by_device.values_mut() {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.segment.start_ms), &row.line));
        let mut edge_ms = failure.at_ms;
        let mut left_ms = rule.cap_hours * HOUR_MS;
        for row in rows {
            if row.segment.end_ms < edge_ms || left_ms == 0 {
                break;
            }
            // What it held of the failure's hour it held before the failure.
            let natural_ms = row.natural_ms.min(failure.at_ms - row.segment.start_ms);
            let counted_ms = natural_ms.min(left_ms);
            left_ms -= counted_ms;
            edge_ms = row.segment.start_ms;
            let Some(price) = row.unit_price.filter(|_| counted_ms > 0) else { continue };
            let part = share_of(i128::from(row.held.0), NanoGpuHours(counted_ms), NanoGpuHours(natural_ms));
            let part = NanoGpuHours(i64::try_from(part).expect("a part of what was held"));
            let sum = lost.entry((&row.tenant, &row.line, price)).or_insert((NanoGpuHours(0), &row.job));
            sum.0 = sum.0 + part;
        }
    }
    lost
}

fn charges(
    rule: &CreditRule,
    failure: &Failure,
    (tenant, job, time, unit_price): (&TenantId, &str, NanoGpuHours, UnitPrice),
    zone: Tz,
    currency: &Currency,
) -> Vec<Charge> {
    let when = local(failure.at_ms, zone).format("%-d %b %Y %H:%M");
    let why = match failure.detail.as_str() {
        "" => failure.reason.words(),
        detail => detail,
    };
    let what = format!("{why}, {when}, {job}, capped at {} h", rule.cap_hours);
    let exact = Exact::of(time, unit_price);
    let amount = exact.round_half_even(currency);
    let quantity = |nano| Quantity { nano, unit: Unit::GpuHour };
    let row = |of: &TenantId, sign: i64, other: TenantId| Charge {
        tenant: of.clone(),
        kind: ChargeKind::Credit,
        what: what.clone(),
        held: NanoGpuHours(0),
        quantity: Some(quantity(sign * time.0)),
        unit_price: Some(unit_price),
        exact: Exact(i128::from(sign) * exact.0),
        amount: crate::money::Amount(sign * amount.0),
        reference: rule.id.clone(),
        counterpart: Some(other),
    };
    let platform = TenantId::platform();
    vec![row(tenant, -1, platform.clone()), row(&platform, 1, tenant.clone())]
}
