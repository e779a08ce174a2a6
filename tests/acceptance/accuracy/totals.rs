//! Held and busy GPU-seconds by tenant, and how far two of them lie apart.

use super::case::{Case, HOUR_S, PARTS, START_MS};
use nvidia_ml::truth::{Truth, truth};
use std::collections::BTreeMap;

/// What a tenant held and used, in seconds of a whole GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Held.
    pub held_s: f64,
    /// Busy; `None` where the method doesn't say.
    pub busy_s: Option<f64>,
}

/// By tenant.
pub type Totals = BTreeMap<String, Usage>;

/// The largest difference of a tenant's held time, GPU-seconds.
pub fn held_error(truth: &Totals, got: &Totals) -> f64 {
    worst(truth, got, |usage| usage.held_s)
}

/// The largest difference of a tenant's busy time, GPU-seconds; `None` where the method says nothing of it.
pub fn busy_error(truth: &Totals, got: &Totals) -> Option<f64> {
    let says = got.is_empty() || got.values().any(|usage| usage.busy_s.is_some());
    says.then(|| worst(truth, got, |usage| usage.busy_s.unwrap_or(0.0)))
}

/// Difference of all tenants' busy time together, GPU-seconds.
pub fn busy_sum_error(truth: &Totals, got: &Totals) -> f64 {
    let sum = |totals: &Totals| totals.values().filter_map(|usage| usage.busy_s).sum::<f64>();
    (sum(truth) - sum(got)).abs()
}

fn worst(truth: &Totals, got: &Totals, of: impl Fn(&Usage) -> f64) -> f64 {
    let value = |totals: &Totals, tenant: &String| totals.get(tenant).map_or(0.0, &of);
    let tenants = truth.keys().chain(got.keys());
    tenants.map(|tenant| (value(truth, tenant) - value(got, tenant)).abs()).fold(0.0, f64::max)
}

/// GPU-seconds from milliseconds of [`PARTS`] parts of a device: the same for equal integers.
pub fn gpu_seconds(parts_ms: i64) -> f64 {
    parts_ms as f64 / (PARTS * 1000) as f64
}

/// The truth of a whole scenario.
pub fn wanted(case: &Case) -> Totals {
    let all: Vec<_> = case.boots.iter().enumerate().map(|(at, boot)| (at, boot.from_s, boot.to_s)).collect();
    wanted_busy_in(case, &all)
}

/// The truth, with busy time counted only within these times of these boots.
pub fn wanted_busy_in(case: &Case, times: &[(usize, i64, i64)]) -> Totals {
    let mut totals = Totals::new();
    for holder in &case.holders {
        let usage = totals.entry(holder.tenant.clone()).or_default();
        let parts_ms: i64 = holder
            .holds
            .iter()
            .flat_map(|hold| &hold.spans)
            .map(|span| (span.to_s.min(HOUR_S) - span.from_s.max(0)) * span.parts * 1000)
            .sum();
        usage.held_s += gpu_seconds(parts_ms);
        usage.busy_s.get_or_insert(0.0);
    }
    for (boot, from_s, to_s) in times {
        let there = truth(&case.boots[*boot].scenario, us(*from_s), us(*to_s));
        for process in &there.processes {
            let Some(tenant) = case.tenant_of_pid.get(&process.pid) else { continue };
            let busy_s = process.busy_us as f64 / 1e6 * weight(&there, &process.gpu_uuid, process.gi);
            let usage = totals.entry(tenant.clone()).or_default();
            usage.busy_s = Some(usage.busy_s.unwrap_or(0.0) + busy_s);
        }
    }
    totals
}

/// Device time per instance time: compute slices of seven; 1 outside MIG.
pub fn weight(there: &Truth, gpu_uuid: &str, gi: Option<u32>) -> f64 {
    let Some(gi) = gi else { return 1.0 };
    let own = there.instances.iter().filter(|i| i.gpu_uuid == gpu_uuid && i.gi == gi);
    own.map(|i| f64::from(i.compute_slices) / 7.0).next().unwrap_or(1.0)
}

/// Unix microseconds of a second of the hour.
pub fn us(at_s: i64) -> i64 {
    (START_MS + at_s * 1000) * 1000
}
