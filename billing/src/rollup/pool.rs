//! Virtual pools: what a scheduler's history held of a cluster's GPUs of one model, where no device is known. A pool has no free
//! time and its use is unknown: its capacity is what was held. The oracle of `close_pool_*.sql`.

use super::{HourRow, UsageKey};
use crate::import::Run;
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use schema::window::Window;
use schema::wire::{BusyKind, Quality};
use std::collections::BTreeMap;

/// Closes the pools of one UTC hour. Runs on named devices aren't of a pool.
pub fn close_pools(hour: Window, runs: &[Run], cuts_ms: &[i64]) -> (Vec<HourRow>, Vec<DeviceTotal>) {
    let mut usage: BTreeMap<(String, String, i64, String, UsageKey), HourRow> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.device.is_none()) {
        for segment in hour.cut_at(cuts_ms) {
            let Some(piece) = segment.intersect(&run.window()) else { continue };
            let (key, node) = (usage_key(run), run.node());
            let held = run.held_until(piece.end_ms) - run.held_until(piece.start_ms);
            let id = (run.key.cluster.clone(), run.place(), segment.start_ms, node.clone(), key.clone());
            let row = usage.entry(id).or_insert_with(|| HourRow {
                segment,
                cluster: run.key.cluster.clone(),
                node,
                device: run.place(),
                model: run.model.clone(),
                key,
                natural_ms: 0,
                held: NanoGpuHours(0),
                busy: NanoGpuHours(0),
                unknown: NanoGpuHours(0),
                memory_byte_ms: 0,
                energy_mj: 0,
            });
            row.natural_ms += piece.len_ms() * i64::from(run.gpus);
            row.held = row.held + held;
            row.unknown = row.held;
        }
    }
    let usage: Vec<HourRow> = usage.into_values().collect();
    let mut devices: BTreeMap<(String, String, i64), DeviceTotal> = BTreeMap::new();
    for row in &usage {
        let id = (row.cluster.clone(), row.device.clone(), row.segment.start_ms);
        let pool = devices.entry(id).or_insert_with(|| empty(row));
        pool.capacity = pool.capacity + row.held;
        pool.held = pool.held + row.held;
        pool.unknown = pool.unknown + row.held;
    }
    (usage, devices.into_values().collect())
}

pub(super) fn usage_key(run: &Run) -> UsageKey {
    UsageKey {
        workload: run.owner.workload(),
        gpu_instance: -1,
        compute_instance: -1,
        profile: run.profile.clone(),
        sharing: run.sharing() as i32,
        share: run.share,
        quality: Quality::Allocated as i32,
        busy_kind: BusyKind::Unspecified as i32,
        busy_quality: Quality::Unspecified as i32,
        unwatched: true,
    }
}

fn empty(row: &HourRow) -> DeviceTotal {
    let none = NanoGpuHours(0);
    DeviceTotal {
        segment: row.segment,
        cluster: row.cluster.clone(),
        node: String::new(),
        device: row.device.clone(),
        model: row.model.clone(),
        capacity: none,
        held: none,
        free: none,
        stranded: none,
        unavailable: none,
        unobserved: none,
        busy: none,
        ghost: none,
        not_busy: none,
        unknown: none,
        energy_mj: None,
        energy_unattributed_mj: 0,
        oversubscribed: false,
        contested: false,
    }
}
