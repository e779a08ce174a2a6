//! What the ledger hands to rating: hourly rows, or sums of them over a segment of the period.
//!
//! `billing` never sees a database; the service fills these from SQL. Every quantity is an integer in the unit its name
//! or type gives.

use schema::id::WorkloadId;
use schema::share::Share;
use schema::units::NanoGpuHours;
use schema::window::Window;
use schema::wire::{BusyKind, Quality, Sharing};

/// What one workload held and used of one device in one segment (an hour, a cut hour, or a sum of hours between two
/// change instants).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageTotal {
    /// The segment; no price or mapping changes inside it.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID of the device.
    pub device: String,
    /// NVML product name of the device.
    pub model: String,
    /// Whose it was.
    pub workload: WorkloadId,
    /// MIG profile, or empty.
    pub profile: String,
    /// How the device was divided.
    pub sharing: Sharing,
    /// Share of the device held.
    pub share: Share,
    /// Quality of the held time.
    pub quality: Quality,
    /// What busy means in `busy`.
    pub busy_kind: BusyKind,
    /// Quality of the busy time.
    pub busy_quality: Quality,
    /// Time for which the share was held, milliseconds (device-, instance- or slot-time).
    pub natural_ms: i64,
    /// The part of `natural_ms` that the collector saw itself; the rest stands on a scheduler's record alone.
    pub observed_ms: i64,
    /// Device time held.
    pub held: NanoGpuHours,
    /// Device time known to be busy.
    pub busy: NanoGpuHours,
    /// Device time held or busy, whichever is more: taken hour by hour and then summed.
    pub most: NanoGpuHours,
    /// Held device time whose use is unknown.
    pub unknown: NanoGpuHours,
    /// Part of the device's energy, millijoules.
    pub energy_mj: i64,
    /// Memory held over time, byte-milliseconds.
    pub memory_byte_ms: u128,
}

/// How one device's time went in one segment: the proof that the lines add up to the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTotal {
    /// The segment.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// The device's time in service: everything below sums to it.
    pub capacity: NanoGpuHours,
    /// Held by workloads.
    pub held: NanoGpuHours,
    /// Held by nobody.
    pub free: NanoGpuHours,
    /// Covered by no MIG instance.
    pub stranded: NanoGpuHours,
    /// Lost, failed or reconfiguring.
    pub unavailable: NanoGpuHours,
    /// Not seen by any witness.
    pub unobserved: NanoGpuHours,
    /// Busy for workloads; this and the next three sum to held + free + stranded.
    pub busy: NanoGpuHours,
    /// Busy with no owner to be found.
    pub ghost: NanoGpuHours,
    /// Not busy.
    pub not_busy: NanoGpuHours,
    /// Use unknown.
    pub unknown: NanoGpuHours,
    /// Growth of the energy counter, millijoules; `None` where it was never known.
    pub energy_mj: Option<i64>,
    /// Part of it that no workload row carries.
    pub energy_unattributed_mj: i64,
    /// Claims exceeded the device and were scaled.
    pub oversubscribed: bool,
    /// Two collectors reported it and one was chosen.
    pub contested: bool,
}

impl DeviceTotal {
    /// Whether both ledgers add up; a row that doesn't is a defect and stops a close.
    pub fn adds_up(&self) -> bool {
        let observed = self.held + self.free + self.stranded;
        observed + self.unavailable + self.unobserved == self.capacity
            && self.busy + self.ghost + self.not_busy + self.unknown == observed
    }
}
