//! dcgm-exporter's rule: every pod that has a device, or a slot of it, is given the device's own value.
//!
//! The values are the truth's exact means over each scrape interval, so that nothing of the error is sampling: it is the
//! rule's. Under MIG a pod has its instance's value, weighted by its slices as Prometheus' users do by `GPU_I_PROFILE`.
//! HAMi's device ids aren't the GPU's, and it finds no pod by them.

use super::case::{Busy, Case, Given, HOUR_S, Hold};
use super::totals::{Totals, us};
use nvidia_ml::model::Model;
use nvidia_ml::truth::{Truth, of_model};

/// The exporter's interval, seconds.
const INTERVAL_S: i64 = 30;

/// Held and busy GPU-seconds by the rule; `None` where it names no pod.
pub fn run(case: &Case) -> Option<Totals> {
    if !case.kubernetes || !case.holders.iter().flat_map(|holder| &holder.holds).any(is_found) {
        return None;
    }
    let mut totals = Totals::new();
    for boot in &case.boots {
        let model = Model::new(&boot.scenario, us(0));
        for from_s in (0..HOUR_S).step_by(INTERVAL_S as usize) {
            let scrape_s = from_s + INTERVAL_S / 2;
            if scrape_s < boot.from_s || boot.to_s <= scrape_s {
                continue;
            }
            let there = of_model(&model, us(from_s), us(from_s + INTERVAL_S));
            for holder in case.holders.iter().filter(|holder| holder.lives(scrape_s)) {
                let usage = totals.entry(holder.tenant.clone()).or_default();
                for hold in holder.holds.iter().filter(|hold| is_found(hold)) {
                    let (busy_s, weight) = device(&there, hold);
                    usage.held_s += INTERVAL_S as f64 * weight;
                    if case.busy != Busy::Unknown {
                        usage.busy_s = Some(usage.busy_s.unwrap_or(0.0) + busy_s * weight);
                    }
                }
            }
        }
    }
    Some(totals)
}

fn is_found(hold: &Hold) -> bool {
    !matches!(hold.given, Given::Hami(..))
}

/// Busy seconds of the device or instance in an interval, and its part of the GPU.
fn device(there: &Truth, hold: &Hold) -> (f64, f64) {
    let gpu = &there.gpus[hold.gpu];
    let Some((gi, slices)) = hold.instance else { return (gpu.busy_us as f64 / 1e6, 1.0) };
    let own = there.instances.iter().find(|i| i.gpu_uuid == gpu.uuid && i.gi == gi);
    (own.map_or(0.0, |i| i.gi_busy_us as f64 / 1e6), slices as f64 / 7.0)
}
