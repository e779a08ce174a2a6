//! Which batches and which collectors count, where two claim the same.

use super::{DeviceKey, Received};
use schema::id::Incarnation;
use schema::window::Window;
use schema::wire::Batch;
use std::collections::BTreeMap;

/// Each identity's batch once, the smaller hash where two contents claim one identity, and how many lost.
pub(super) fn batches(received: &[Received]) -> (Vec<&Batch>, u64) {
    let mut by_identity: BTreeMap<_, BTreeMap<u64, &Batch>> = BTreeMap::new();
    for one in received {
        let batch = &one.batch;
        let identity = (&batch.cluster, &batch.node, &batch.incarnation, batch.sequence);
        by_identity.entry(identity).or_default().insert(one.hash, batch);
    }
    let lost = by_identity.values().map(|contents| contents.len() as u64 - 1).sum();
    let first =
        |contents: BTreeMap<u64, _>| contents.into_values().next().expect("an identity has a content");
    (by_identity.into_values().map(first).collect(), lost)
}

/// Per device, the collectors whose rows of the hour don't count. Collectors are taken best first (most observed time,
/// then the smaller incarnation); one whose windows overlap those of one already taken is refused.
pub(super) fn refused_collectors(hour: Window, batches: &[&Batch]) -> BTreeMap<DeviceKey, Vec<Incarnation>> {
    let mut reports: BTreeMap<DeviceKey, BTreeMap<Incarnation, Report>> = BTreeMap::new();
    for batch in batches {
        let Ok(incarnation) = Incarnation::from_bytes(&batch.incarnation) else { continue };
        for window in &batch.device_windows {
            let Some(device) = batch.devices.get(window.device as usize) else { continue };
            if !hour.contains(window.start_ms) {
                continue;
            }
            let of_device = reports.entry((batch.cluster.clone(), device.uuid.clone())).or_default();
            let report = of_device.entry(incarnation).or_default();
            report.observed_ms += u128::from(window.observed_ms);
            report.windows.push(Window { start_ms: window.start_ms, end_ms: window.end_ms });
        }
    }
    let refused = reports.into_iter().map(|(device, of_device)| (device, refused_of(of_device)));
    refused.filter(|(_, lost)| !lost.is_empty()).collect()
}

/// What one collector said of one device in the hour.
#[derive(Default)]
struct Report {
    observed_ms: u128,
    windows: Vec<Window>,
}

fn refused_of(of_device: BTreeMap<Incarnation, Report>) -> Vec<Incarnation> {
    let mut ranked: Vec<(Incarnation, Report)> = of_device.into_iter().collect();
    ranked.sort_by_key(|(incarnation, report)| (std::cmp::Reverse(report.observed_ms), *incarnation));
    let mut taken: Vec<Window> = Vec::new();
    let mut refused = Vec::new();
    for (incarnation, report) in ranked {
        let overlaps = |w: &Window| taken.iter().any(|t| w.start_ms < t.end_ms && t.start_ms < w.end_ms);
        if report.windows.iter().any(overlaps) {
            refused.push(incarnation);
        } else {
            taken.extend(report.windows);
        }
    }
    refused
}
