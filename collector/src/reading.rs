//! What one reading of a node's devices says: plain values, nothing computed. Everything after `device/` works on these.
//!
//! A value that couldn't be read is an `Err` with the reason, never a zero.

use schema::wire::{BusyKind, Reason};
use serde::Serialize;
use std::sync::Arc;

/// A value, or why it isn't known.
pub type Field<T> = Result<T, Reason>;

/// What doesn't change while a driver is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// `GPU-...`, the only key of a device.
    pub uuid: String,
    /// NVML product name.
    pub model: String,
    /// NVML index; for display.
    pub index: u32,
    /// Number of `/dev/nvidiaN`.
    pub minor: Option<u32>,
    /// `00000000:83:00.0`.
    pub pci_bus_id: String,
    /// Driver version.
    pub driver_version: String,
    /// Total framebuffer in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Compute slices under MIG; `None` where the device can't do MIG.
    pub mig_slices: Option<u32>,
    /// Whether the device measures SM activity (GPM, Hopper and newer).
    pub gpm: bool,
}

/// Framebuffer in bytes; `used` excludes `reserved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// Kept by driver and firmware.
    pub reserved_bytes: u64,
    /// Not in use.
    pub free_bytes: u64,
    /// In use by workloads.
    pub used_bytes: u64,
}

/// A utilisation sample of the whole device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BusySample {
    /// End of the sample period, Unix microseconds.
    pub at_us: i64,
    /// Whole percent of the period in which a kernel was resident.
    pub percent: u32,
}

/// A utilisation sample of one process or one vGPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProcessSample {
    /// Host PID, or the vGPU instance id.
    pub pid: u32,
    /// When it was taken, Unix microseconds.
    pub at_us: i64,
    /// Whole percent.
    pub percent: u32,
}

/// A process with a context on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Host PID.
    pub pid: u32,
    /// Framebuffer in bytes; `None` where NVML doesn't say.
    pub memory_bytes: Option<u64>,
    /// GPU instance under MIG.
    pub gpu_instance: Option<u32>,
    /// Compute instance under MIG.
    pub compute_instance: Option<u32>,
    /// Whether it is a client of an MPS server.
    pub mps_client: bool,
}

/// Activity between two GPM samples, each a fraction 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gpm {
    /// SMs with at least one warp.
    pub sm: f64,
    /// Warps resident against the most possible.
    pub occupancy: Option<f64>,
    /// Any tensor pipe active.
    pub tensor: Option<f64>,
    /// DRAM interface active.
    pub dram: Option<f64>,
    /// Graphics or compute engine active.
    pub graphics: Option<f64>,
}

/// Activity of a GPU instance by another witness than NVML.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Activity {
    /// What it is a fraction of.
    #[serde(serialize_with = "busy_kind")]
    pub kind: BusyKind,
    /// 0 to 1.
    pub ratio: f64,
}

/// One MIG compute instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Instance {
    /// GPU instance id.
    pub gpu_instance: u32,
    /// Compute instance id.
    pub compute_instance: u32,
    /// `MIG-...`.
    pub uuid: String,
    /// `3g.40gb`, `1c.3g.40gb`.
    pub profile: String,
    /// Compute slices of the GPU instance it lies in.
    pub gpu_instance_slices: u32,
    /// Its own compute slices.
    pub slices: u32,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Memory of the GPU instance, shared by its compute instances.
    #[serde(serialize_with = "field")]
    pub memory: Field<Memory>,
    /// Activity of the GPU instance.
    #[serde(serialize_with = "field")]
    pub gpm: Field<Gpm>,
    /// Activity of this compute instance alone, asked only where the GPU instance has several.
    pub own_gpm: Option<Gpm>,
    /// Activity of the GPU instance by a DCGM exporter on the node, where the device itself doesn't tell.
    pub dcgm: Option<Activity>,
}

/// A virtual GPU of a hypervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vgpu {
    /// NVML's instance id, which samples point to.
    pub id: u32,
    /// Virtual machine.
    pub vm_id: String,
    /// vGPU type, such as `NVIDIA A30-12C`.
    pub type_name: String,
    /// How many of this type fit on the device.
    pub max_instances: Option<u32>,
    /// Framebuffer in use, bytes.
    pub memory_bytes: Option<u64>,
}

/// Bytes that a device has moved since the driver was loaded; `None` where it doesn't count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinkBytes {
    /// Sent over PCIe.
    pub pcie_sent: Option<u64>,
    /// Received over PCIe.
    pub pcie_received: Option<u64>,
    /// Payload sent over all NVLinks.
    pub nvlink_sent: Option<u64>,
    /// Payload received over all NVLinks.
    pub nvlink_received: Option<u64>,
}

/// Everything read of a device that answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gauges {
    /// Last whole percent: of the GPU, and of its memory interface.
    #[serde(serialize_with = "field")]
    pub utilization: Field<(u32, u32)>,
    /// Device samples newer than the previous reading's.
    #[serde(serialize_with = "field")]
    pub busy_samples: Field<Vec<BusySample>>,
    /// Process (or vGPU) samples newer than the previous reading's.
    #[serde(serialize_with = "field")]
    pub process_samples: Field<Vec<ProcessSample>>,
    /// Processes; `None` where this reading didn't ask.
    #[serde(serialize_with = "maybe_field")]
    pub processes: Option<Field<Vec<Process>>>,
    /// Virtual GPUs, on a vGPU host.
    pub vgpus: Option<Vec<Vgpu>>,
    /// Framebuffer.
    #[serde(serialize_with = "field")]
    pub memory: Field<Memory>,
    /// Energy since the driver was loaded, millijoules.
    #[serde(serialize_with = "field")]
    pub energy_mj: Field<u64>,
    /// Power draw in milliwatts.
    #[serde(serialize_with = "field")]
    pub power_mw: Field<u32>,
    /// Core temperature in degrees Celsius; `None` where this reading didn't ask.
    pub temperature_c: Option<u32>,
    /// SM clock in MHz; `None` where this reading didn't ask.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock in MHz; `None` where this reading didn't ask.
    pub memory_clock_mhz: Option<u32>,
    /// Bytes over PCIe and NVLink; `None` where this reading didn't ask, or the device counts none.
    pub links: Option<LinkBytes>,
    /// Activity of the whole device outside MIG.
    #[serde(serialize_with = "field")]
    pub gpm: Field<Gpm>,
    /// MIG instances; `None` where MIG is off.
    pub mig: Option<Vec<Instance>>,
}

/// One device at one instant.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceReading {
    /// Which device.
    #[serde(serialize_with = "shared")]
    pub identity: Arc<Identity>,
    /// When, in milliseconds of the boot-time clock.
    pub boot_ms: i64,
    /// XIDs since the previous reading: a device that is lost still has them.
    pub xids: Vec<u64>,
    /// What it said, or why it didn't.
    #[serde(serialize_with = "field")]
    pub outcome: Field<Box<Gauges>>,
}

/// What the calls of a reading cost and how they failed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CallStats {
    /// Calls made.
    pub calls: u64,
    /// Time in them, microseconds.
    pub micros: u64,
    /// Calls by duration, counted per bound of [`CALL_BOUNDS_US`], the last without bound.
    pub buckets: [u64; CALL_BOUNDS_US.len() + 1],
    /// Failures by function and NVML return code.
    pub errors: Vec<(&'static str, u32, u64)>,
    /// Values over 100 % that were clamped.
    pub clamped: u64,
    /// Values that were no number and were dropped.
    pub not_a_number: u64,
    /// Process lists put off because the tick's NVML time was used up.
    pub deferred_lists: u64,
}

/// Upper bounds of the call-duration histogram in microseconds: a gauge is 3 to 400, a process list 4,500.
pub const CALL_BOUNDS_US: [u64; 8] = [10, 100, 500, 1_000, 5_000, 20_000, 100_000, 1_000_000];

impl CallStats {
    /// Counts one call.
    pub fn count(&mut self, function: &'static str, micros: u64, code: u32) {
        self.calls += 1;
        self.micros += micros;
        let bucket = CALL_BOUNDS_US.iter().position(|bound| micros <= *bound).unwrap_or(CALL_BOUNDS_US.len());
        self.buckets[bucket] += 1;
        if code != 0 {
            self.count_error(function, code, 1);
        }
    }

    fn count_error(&mut self, function: &'static str, code: u32, n: u64) {
        match self.errors.iter_mut().find(|(f, c, _)| *f == function && *c == code) {
            Some(known) => known.2 += n,
            None => self.errors.push((function, code, n)),
        }
    }

    /// Adds another reading's.
    pub fn add(&mut self, other: &CallStats) {
        self.calls += other.calls;
        self.micros += other.micros;
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
        for (function, code, n) in &other.errors {
            self.count_error(function, *code, *n);
        }
        self.clamped += other.clamped;
        self.not_a_number += other.not_a_number;
        self.deferred_lists += other.deferred_lists;
    }
}

/// All devices at one tick.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NodeReading {
    /// Devices that are known by UUID.
    pub devices: Vec<DeviceReading>,
    /// Why nothing could be read at all.
    #[serde(serialize_with = "maybe_reason")]
    pub failed: Option<(Reason, String)>,
    /// Cost and failures of its calls.
    pub stats: CallStats,
}

/// What a reading is to contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Whether to ask for process lists, which are dear.
    pub processes: bool,
    /// Whether to ask for what changes slowly: temperature and clocks.
    pub slow_gauges: bool,
    /// NVML time after which further process lists are put off, microseconds.
    pub budget_us: u64,
}

/// Where readings come from: a session in this thread, or one in a thread of its own.
pub trait Source {
    /// Reads every device. Failures are part of the answer.
    fn read(&mut self, plan: &Plan) -> NodeReading;
    /// Lets go of the driver altogether; the next reading takes it up again. False where something is still held, by a
    /// call that hangs.
    fn release(&mut self) -> bool;
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a, T> {
    Known(&'a T),
    Unknown { unknown: String },
}

fn shown<T>(value: &Field<T>) -> Shown<'_, T> {
    match value {
        Ok(value) => Shown::Known(value),
        Err(reason) => Shown::Unknown { unknown: format!("{reason:?}") },
    }
}

fn field<T: Serialize, S: serde::Serializer>(value: &Field<T>, s: S) -> Result<S::Ok, S::Error> {
    shown(value).serialize(s)
}

fn busy_kind<S: serde::Serializer>(kind: &BusyKind, s: S) -> Result<S::Ok, S::Error> {
    format!("{kind:?}").serialize(s)
}

fn shared<T: Serialize, S: serde::Serializer>(value: &Arc<T>, s: S) -> Result<S::Ok, S::Error> {
    value.as_ref().serialize(s)
}

fn maybe_field<T: Serialize, S: serde::Serializer>(
    value: &Option<Field<T>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(shown).serialize(s)
}

fn maybe_reason<S: serde::Serializer>(value: &Option<(Reason, String)>, s: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(|(reason, text)| format!("{reason:?}: {text}")).serialize(s)
}
