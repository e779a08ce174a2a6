//! The hour close in plain Rust: the oracle that the SQL in `schema/queries/close_*.sql` is tested against.
//!
//! The rule is `docs/decisions/0001-hour-close.md`; here is what it means to the last unit, so that two programs can give
//! the same digits. Exact device time is in 1e-27 GPU-hours, `floor(S x 10^27 / (den x 3,600,000))` per key and
//! denominator, with a product of up to 256 bits.
//!
//! 1. `seen` is the observed time, at most the span in service; `unavailable` at most what is left of the span;
//!    `unobserved` is the rest of the span.
//! 2. `stranded` is at most `seen`. Where workloads claim more than `seen - stranded`, each claim becomes
//!    `floor(claim x (seen - stranded) / sum of claims)`; `free` is what is left. Where busy, ghost and unknown exceed
//!    `seen`, they are scaled to it in the same way. Either marks the device-hour `oversubscribed`.
//! 3. The held ledger apportions the capacity, the busy ledger what the held ledger gave to observed time: whole
//!    nano-GPU-hours first, then one unit each to the largest remainders, ties to the earlier part. The held ledger's
//!    parts are the workloads' keys in order, free, stranded, unavailable, unobserved; the busy ledger's are the keys'
//!    busy, the keys' unknown, ghost, not busy, unknown on a free device. Where the floors of the busy ledger exceed
//!    its whole (by one unit, when unavailable and unobserved both took one), the unit goes back from the smallest
//!    remainder among parts that have one, ties to the later part.
//! 4. Ghost use is no workload: it holds nothing, and its memory and energy stay unattributed.

use crate::import::Run;
use schema::id::{Incarnation, WorkloadId};
use schema::share::Share;
use schema::units::NanoGpuHours;
use schema::window::Window;
use schema::wire::Batch;

mod choose;
mod gather;
mod ledger;
mod pool;

pub use pool::close_pools;

/// A batch as ingest stored it.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// What came.
    pub batch: Batch,
    /// Hash of its bytes: the same batch twice has one, a conflicting one another.
    pub hash: u64,
}

/// A device of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InService {
    /// Cluster of the device.
    pub cluster: String,
    /// Node it is on.
    pub node: String,
    /// NVML UUID; the inventory lists a device of a cluster once.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// From first sight to retirement.
    pub window: Window,
}

/// What makes two raw rows one row of the hour; its order breaks ties. `-1` stands for "not under MIG".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageKey {
    /// The workload.
    pub workload: WorkloadId,
    /// GPU instance id, or -1.
    pub gpu_instance: i32,
    /// Compute instance id, or -1.
    pub compute_instance: i32,
    /// MIG profile, or empty.
    pub profile: String,
    /// Wire value of how the device was divided.
    pub sharing: i32,
    /// Share of the device held, as stated.
    pub share: Share,
    /// Wire value of the quality of held time.
    pub quality: i32,
    /// Wire value of what busy means.
    pub busy_kind: i32,
    /// Wire value of the quality of busy time.
    pub busy_quality: i32,
    /// Held on a scheduler's record alone: nobody saw whether a process was there.
    pub unwatched: bool,
}

/// A row of `usage_hourly`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourRow {
    /// Segment of the hour.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// What it is.
    pub key: UsageKey,
    /// Time held, milliseconds of the share.
    pub natural_ms: i64,
    /// Device time held.
    pub held: NanoGpuHours,
    /// Device time busy.
    pub busy: NanoGpuHours,
    /// Device time whose use is unknown.
    pub unknown: NanoGpuHours,
    /// Memory held over time, byte-milliseconds.
    pub memory_byte_ms: u128,
    /// Energy, millijoules.
    pub energy_mj: i64,
}

/// A row of `device_hourly`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRow {
    /// Both ledgers.
    pub total: crate::usage::DeviceTotal,
    /// Device memory used over time, byte-milliseconds; `None` where it was never known.
    pub memory_byte_ms: Option<u128>,
    /// Part of it that no workload carries.
    pub memory_unattributed_byte_ms: i128,
}

/// An hour, closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourClose {
    /// Rows of usage, by cluster, device, segment and key.
    pub usage: Vec<HourRow>,
    /// Rows of devices, by cluster, device and segment.
    pub devices: Vec<DeviceRow>,
    /// Batches that had the identity of another and lost to it.
    pub conflicts: u64,
}

/// A raw row's origin, for the choice between collectors.
type DeviceKey = (String, String);

/// Closes one UTC hour. `hour` is a whole hour; rows of other hours are left alone; `cuts_ms` are the local midnights and
/// change instants. Each device of the inventory gets a row for every segment in which it is in service, also if
/// nothing came from it. Identities of 16 bytes and positions that exist are ingest's business: rows without are left out.
pub fn close_hour(hour: Window, batches: &[Received], inventory: &[InService], cuts_ms: &[i64]) -> HourClose {
    close_hour_with_history(hour, batches, &[], inventory, cuts_ms)
}

/// The same where a scheduler's history names devices of the inventory; runs that name none are of pools ([`close_pools`]).
pub fn close_hour_with_history(
    hour: Window,
    batches: &[Received],
    history: &[Run],
    inventory: &[InService],
    cuts_ms: &[i64],
) -> HourClose {
    let (chosen, conflicts) = choose::batches(batches);
    let refused = choose::refused_collectors(hour, &chosen);
    let mut close = HourClose { usage: Vec::new(), devices: Vec::new(), conflicts };
    let mut devices: Vec<&InService> = inventory.iter().collect();
    devices.sort_by(|a, b| (&a.cluster, &a.device).cmp(&(&b.cluster, &b.device)));
    for device in devices {
        let name: DeviceKey = (device.cluster.clone(), device.device.clone());
        let lost: &[Incarnation] = refused.get(&name).map_or(&[], Vec::as_slice);
        for segment in hour.cut_at(cuts_ms) {
            let Some(span) = segment.intersect(&device.window) else { continue };
            let mut gathered = gather::segment(device, segment, &chosen, lost);
            gathered.take_history(device, segment, history);
            let (row, usage) = ledger::close(device, segment, span, gathered, !lost.is_empty());
            close.devices.push(row);
            close.usage.extend(usage);
        }
    }
    close
}

#[cfg(test)]
mod tests;
