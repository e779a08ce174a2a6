//! OpenCost's rule: requested GPUs x the minutes in which Prometheus saw the pod run.
//!
//! A pod's life is `kube_pod_container_status_running` at a resolution of a minute: it begins a minute before the first
//! point and ends at the last. The request is `nvidia.com/gpu`, whole numbers; MIG resources and claims aren't read.

use super::case::{Case, HOUR_S, Holder};
use super::totals::Totals;

/// Resolution, seconds.
const MINUTE_S: i64 = 60;

/// Held GPU-seconds by the rule; it says nothing of each pod's busy time. `None` where there are no pods.
pub fn run(case: &Case) -> Option<Totals> {
    if !case.kubernetes {
        return None;
    }
    let mut totals = Totals::new();
    for holder in &case.holders {
        let usage = totals.entry(holder.tenant.clone()).or_default();
        usage.held_s += f64::from(holder.gpus) * running_s(holder) as f64;
    }
    Some(totals)
}

fn running_s(holder: &Holder) -> i64 {
    let points = (MINUTE_S..=HOUR_S).step_by(MINUTE_S as usize).filter(|at| holder.lives(*at));
    let points: Vec<i64> = points.collect();
    match (points.first(), points.last()) {
        (Some(first), Some(last)) => last - (first - MINUTE_S).max(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_counted_in_whole_minutes_and_one_between_two_points_is_none() {
        let life = |start_s, end_s| {
            let (name, tenant) = (String::new(), String::new());
            running_s(&Holder { name, tenant, start_s, end_s, gpus: 1, holds: Vec::new() })
        };
        assert_eq!(life(0, None), 3_600);
        assert_eq!(life(317, Some(2_119)), 1_800, "seen from minute 6 to minute 35");
        assert_eq!(life(61, Some(119)), 0);
        assert_eq!(life(119, Some(121)), 60);
    }
}
