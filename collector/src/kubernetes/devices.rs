//! The node's devices as far as Kubernetes' shares need them: how much memory each has.

use super::device_id::DeviceRef;
use std::sync::{Arc, Mutex, PoisonError};

/// A device of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice {
    /// `GPU-...`.
    pub uuid: String,
    /// NVML index.
    pub index: u32,
    /// The N of `/dev/nvidiaN`.
    pub minor: Option<u32>,
    /// Total memory in MiB, where NVML says.
    pub memory_mib: Option<u32>,
}

/// All of them at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices(pub Vec<KnownDevice>);

impl Devices {
    /// Memory of a device, MiB. A MIG device's isn't told here.
    pub fn memory_mib(&self, device: &DeviceRef) -> Option<u32> {
        let is = |known: &&KnownDevice| match device {
            DeviceRef::Gpu(uuid) => known.uuid == *uuid,
            DeviceRef::Minor { minor, gpu_instance: None } => known.minor == Some(*minor),
            DeviceRef::Index(index) => known.index == *index,
            DeviceRef::Mig(_) | DeviceRef::LegacyMig { .. } | DeviceRef::Minor { .. } => false,
        };
        self.0.iter().find(is)?.memory_mib
    }
}

/// The devices, shared between the sampler that sees them and the witness.
#[derive(Debug, Clone, Default)]
pub struct KnownDevices(Arc<Mutex<Arc<Devices>>>);

impl KnownDevices {
    /// Tells what is there now.
    pub fn set(&self, devices: Vec<KnownDevice>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != devices {
            *known = Arc::new(Devices(devices));
        }
    }

    /// What is there.
    pub fn get(&self) -> Arc<Devices> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
