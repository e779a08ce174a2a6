//! Sums over what collectors made, per device and owner: for comparison with a scenario's ground truth.

use schema::owner::key;
use schema::wire::{Batch, UsageSlice};
use std::collections::BTreeMap;

/// What one owner held and used of one device, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Time for which a share was held (device-, instance- or slot-time).
    pub natural_ms: f64,
    /// Device time held.
    pub held_ms: f64,
    /// Busy time on the device or instance, where known.
    pub busy_ms: f64,
    /// Held time whose use is unknown.
    pub unknown_ms: f64,
    /// Energy, millijoules.
    pub energy_mj: u64,
}

/// What the devices themselves said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Device {
    /// Observed time, milliseconds.
    pub observed_ms: u64,
    /// Growth of the energy counter, millijoules.
    pub energy_mj: u64,
}

/// Sums of a run.
#[derive(Debug, Default)]
pub struct Sums {
    /// By (device UUID, owner): the owner is `uid:2001`, `vm:NAME`, or `ghost`.
    pub used: BTreeMap<(String, String), Used>,
    /// By device UUID.
    pub devices: BTreeMap<String, Device>,
}

impl Sums {
    /// Adds a batch.
    pub fn add(&mut self, batch: &Batch) {
        for slice in &batch.usage {
            let device = batch.devices[slice.device as usize].uuid.clone();
            let used = self.used.entry((device, owner_of(batch, slice))).or_default();
            let natural = slice.allocated_ms.or(slice.resident_ms).unwrap_or(0) as f64;
            used.natural_ms += natural;
            used.held_ms += natural * f64::from(slice.share_num) / f64::from(slice.share_den);
            match slice.busy_ms {
                Some(busy) => used.busy_ms += busy as f64,
                None => used.unknown_ms += natural,
            }
            used.energy_mj += slice.energy_mj.unwrap_or(0);
        }
        for window in &batch.device_windows {
            let device = self.devices.entry(batch.devices[window.device as usize].uuid.clone()).or_default();
            device.observed_ms += window.observed_ms;
            device.energy_mj += window.energy_mj.unwrap_or(0);
        }
    }

    /// One owner's sum over all devices.
    pub fn of_owner(&self, owner: &str) -> Used {
        self.used.iter().filter(|((_, o), _)| o == owner).fold(Used::default(), |a, (_, b)| Used {
            natural_ms: a.natural_ms + b.natural_ms,
            held_ms: a.held_ms + b.held_ms,
            busy_ms: a.busy_ms + b.busy_ms,
            unknown_ms: a.unknown_ms + b.unknown_ms,
            energy_mj: a.energy_mj + b.energy_mj,
        })
    }
}

fn owner_of(batch: &Batch, slice: &UsageSlice) -> String {
    let Some(owner) = slice.owner else { return "ghost".to_string() };
    let owner = &batch.owners[owner as usize];
    let get = |key: &str| owner.attributes.iter().find(|a| a.key == key).map(|a| a.value.clone());
    match (get(key::UID), get(key::VM_ID)) {
        (Some(uid), _) => format!("uid:{uid}"),
        (None, Some(vm)) => format!("vm:{vm}"),
        (None, None) => format!("unknown:{}", owner.evidence),
    }
}
