//! Pages for Prometheus: our own names, and DCGM's for the dashboards that people have. What isn't known is absent.

mod dcgm;
mod itself;
mod own;
pub(crate) mod text;

pub use dcgm::render as render_dcgm;
pub use own::{OwnInput, render as render_own};

use schema::owner::OwnerKind;
use std::collections::BTreeMap;

/// Revision that the build was made from.
pub const REVISION: &str = env!("SLICEMETER_BUILD_REVISION");

/// Sums of usage since the start, by device and kind of owner: labels that stay few however many jobs come and go.
#[derive(Debug, Default)]
pub struct UsageTotals {
    by_device: BTreeMap<(String, &'static str), Usage>,
    /// Near and far host memory over time, byte-milliseconds.
    host: BTreeMap<&'static str, [f64; 2]>,
}

/// One sum. Times are device time: a share of a device counts as that share.
#[derive(Debug, Default, Clone, Copy)]
pub struct Usage {
    /// Held device time, milliseconds.
    pub held_ms: f64,
    /// Busy device time, milliseconds.
    pub busy_ms: f64,
    /// Memory held, byte-milliseconds.
    pub memory_byte_ms: f64,
    /// Energy, millijoules.
    pub energy_mj: u64,
}

impl UsageTotals {
    /// Adds the rows of batches.
    pub fn add(&mut self, batches: &[schema::wire::Batch]) {
        for batch in batches {
            for row in &batch.usage {
                let uuid = batch.devices[row.device as usize].uuid.clone();
                let owner = row.owner.map(|at| batch.owners[at as usize].kind());
                let total = self.by_device.entry((uuid, kind(owner))).or_default();
                let ratio = |num: u32, den: u32| f64::from(num) / f64::from(den.max(1));
                total.held_ms += row.allocated_ms.or(row.resident_ms).unwrap_or(0) as f64
                    * ratio(row.share_num, row.share_den);
                total.busy_ms += row.busy_ms.unwrap_or(0) as f64 * ratio(row.weight_num, row.weight_den);
                total.memory_byte_ms += row.memory_byte_ms.unwrap_or(0) as f64;
                total.energy_mj += row.energy_mj.unwrap_or(0);
            }
            for row in &batch.host_memory {
                let owner = batch.owners[row.owner as usize].kind();
                let [near, far] = self.host.entry(kind(Some(owner))).or_default();
                *near += row.near_byte_ms as f64;
                *far += row.far_byte_ms as f64;
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &'static str, &Usage)> {
        self.by_device.iter().map(|((uuid, kind), usage)| (uuid.as_str(), *kind, usage))
    }
}

fn kind(owner: Option<OwnerKind>) -> &'static str {
    match owner {
        None => "ghost",
        Some(OwnerKind::Kubernetes) => "kubernetes",
        Some(OwnerKind::Slurm) => "slurm",
        Some(OwnerKind::Container) => "container",
        Some(OwnerKind::Systemd) => "systemd",
        Some(OwnerKind::User) => "user",
        Some(OwnerKind::Vm) => "vm",
        Some(OwnerKind::Unknown | OwnerKind::Unspecified) => "unknown",
    }
}

#[cfg(test)]
mod tests;
