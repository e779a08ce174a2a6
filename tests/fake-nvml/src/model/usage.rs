//! What a GPU holds and draws at an instant: memory in use, power, and energy as power's exact integral.

use super::{FULL, GpuModel, InstanceModel, MIB};
use crate::presets::IN_USE_OVERHEAD_BYTES;

/// Memory as NVML reports it of a whole GPU or of an instance, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNow {
    /// All of it.
    pub total: u64,
    /// What the driver keeps.
    pub reserved: u64,
    /// What is used, without what the driver keeps.
    pub used: u64,
}

impl MemoryNow {
    /// What is left.
    pub fn free(self) -> u64 {
        self.total - self.reserved - self.used
    }

    /// Whole MiB, as nvidia-smi prints them.
    pub fn mib(bytes: u64) -> u64 {
        (bytes + MIB / 2) / MIB
    }
}

impl GpuModel {
    /// Memory in use at an instant, without what the driver reserves, in bytes.
    pub fn used_bytes(&self, at_us: i64) -> u64 {
        if let Some((_, layout)) = self.layout_at(at_us) {
            return layout.instances.iter().map(|instance| self.instance_used_bytes(instance, at_us)).sum();
        }
        let processes = self.alive_at(at_us).map(|process| process.memory.value_at(at_us));
        let vms = self.vms_at(at_us).map(|vm| vm.memory.value_at(at_us));
        let (users, used) =
            processes.chain(vms).fold((0, 0), |(users, used), bytes| (users + 1, used + bytes));
        let overhead = if users > 0 { self.preset.overhead_bytes } else { 0 };
        (used + overhead).min(self.preset.total_bytes - self.preset.reserved_bytes)
    }

    /// Memory in use on a GPU instance at an instant, in bytes.
    pub fn instance_used_bytes(&self, instance: &InstanceModel, at_us: i64) -> u64 {
        let members =
            self.alive_at(at_us).filter(|process| process.instance.is_some_and(|(gi, _)| gi == instance.gi));
        let (users, used) =
            members.fold((0, 0), |(users, used), process| (users + 1, used + process.memory.value_at(at_us)));
        let in_use = if users > 0 { IN_USE_OVERHEAD_BYTES } else { 0 };
        (used + instance.profile.overhead_bytes + in_use).min(instance.profile.total_bytes)
    }

    /// Draw at an instant, in mW.
    pub fn power_mw(&self, at_us: i64) -> u64 {
        let span = u128::from(self.preset.max_mw - self.preset.idle_mw);
        let above_idle = span * u128::from(self.busy.value_at(at_us)) / u128::from(FULL);
        self.preset.idle_mw + u64::try_from(above_idle).expect("no more than the power limit")
    }

    /// Energy from one instant to another, in whole mJ; of windows that start at the same instant, the difference is
    /// exactly the energy between their ends.
    pub fn energy_mj(&self, from_us: i64, to_us: i64) -> u64 {
        let duration = u128::from(to_us.saturating_sub(from_us).max(0).unsigned_abs());
        let idle = u128::from(self.preset.idle_mw) * duration * u128::from(FULL);
        let above_idle =
            u128::from(self.preset.max_mw - self.preset.idle_mw) * self.busy.integral(from_us, to_us);
        u64::try_from((idle + above_idle) / (u128::from(FULL) * 1_000_000))
            .expect("a GPU's energy fits 64 bits of mJ")
    }
}
