//! What a scenario says of a GPU: which product it is, how it is shared, and how it is cut over time.

use serde::{Deserialize, Serialize};

use super::value::{Seconds, Series};

/// How a GPU is shared when it is not cut by MIG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One process or several that take turns (time-slicing).
    #[default]
    Plain,
    /// Clients of a CUDA MPS server.
    Mps,
    /// A host of virtual machines (vGPU).
    Vgpu,
}

/// Whose PID the driver names in utilisation samples of MPS clients: NVIDIA's documents don't say, so both exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MpsUtilization {
    /// Each client's own.
    #[default]
    Client,
    /// The server's, with the sum of its clients.
    Server,
}

/// One physical GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Product, by its preset's name: `h100`, `h200`, `a100-80gb`, ... ([`crate::presets::names`] lists them).
    pub preset: String,
    /// `GPU-...`; derived from the node's name and the GPU's index where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How it is shared outside MIG.
    #[serde(default)]
    pub mode: Mode,
    /// Whether MPS clients are in the compute list besides the MPS list.
    #[serde(default)]
    pub mps_clients_in_compute_list: bool,
    /// Whose PID MPS utilisation samples carry.
    #[serde(default)]
    pub mps_utilization: MpsUtilization,
    /// Busy time of no process at all, in percent of the GPU (outside MIG).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ghost_busy: Option<Series>,
    /// MIG layouts, each for its interval. MIG is on as long as a layout holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mig: Vec<MigLayout>,
    /// Virtual machines that have a vGPU here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vms: Vec<Vm>,
}

impl Gpu {
    /// A whole GPU of this preset, plain.
    pub fn new(preset: &str) -> Self {
        Self {
            preset: preset.to_owned(),
            uuid: None,
            mode: Mode::Plain,
            mps_clients_in_compute_list: false,
            mps_utilization: MpsUtilization::Client,
            ghost_busy: None,
            mig: Vec::new(),
            vms: Vec::new(),
        }
    }

    /// Cut by MIG into these instances, from the start on.
    pub fn with_mig(mut self, instances: Vec<GpuInstance>) -> Self {
        self.mig.push(MigLayout { from: Seconds::ZERO, to: None, instances });
        self
    }
}

/// How a GPU is cut during `[from, to)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigLayout {
    /// First instant.
    #[serde(default)]
    pub from: Seconds,
    /// First instant after it; for ever where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Seconds>,
    /// The GPU instances; none is allowed (MIG on, nothing created).
    #[serde(default)]
    pub instances: Vec<GpuInstance>,
}

/// A GPU instance: a share of the memory and of the multiprocessors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuInstance {
    /// Its id, as NVML gives it.
    pub gi: u32,
    /// `3g.40gb`, ...: one of the preset's profiles.
    pub profile: String,
    /// MIG device index of its only compute instance, where `compute` is not given; the next free one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Its compute instances; one (`ci = 0`) with all its slices by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<ComputeInstance>,
}

impl GpuInstance {
    /// An instance with one compute instance (0) over all of it, in the next free slot.
    pub fn new(gi: u32, profile: &str) -> Self {
        Self { gi, profile: profile.to_owned(), slot: None, compute: Vec::new() }
    }
}

/// A compute instance: a MIG device, with slices of its GPU instance's multiprocessors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeInstance {
    /// Its id within the GPU instance.
    pub ci: u32,
    /// Compute slices.
    pub slices: u32,
    /// MIG device index; the next free one where it is not given. Slots may be sparse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// `MIG-...`; derived from the GPU, the slot and the ids where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// A virtual machine's vGPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vm {
    /// The hypervisor's id of the machine.
    pub vm_id: String,
    /// vGPU type, such as `NVIDIA A30-12C`.
    pub vgpu_type: String,
    /// When it starts.
    #[serde(default)]
    pub start: Seconds,
    /// When it ends; never where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Seconds>,
    /// Busy, in percent of the GPU.
    #[serde(default)]
    pub busy: Series,
    /// Frame buffer, in MiB.
    #[serde(default)]
    pub memory_mib: Series,
    /// Name of the process inside the guest that the host's per-process vGPU list shows.
    #[serde(default = "guest_process")]
    pub guest_process: String,
}

fn guest_process() -> String {
    "python3".to_owned()
}
