//! Slots of MPS devices whose holder runs elsewhere. A slot's id names a device, and its client may be on another one that
//! the same server serves: where the processes are is what was used, so the hold goes with them.

use super::claims;
use crate::allocation::{Allocation, Allocations, DeviceFacts, DeviceName};
use crate::slice::Closed;
use schema::id::WorkloadId;
use schema::share::Share;
use schema::wire::Sharing;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where each owner's processes are among these slices, by device UUID, and which of the devices are under MPS.
struct Whereabouts {
    of: BTreeMap<WorkloadId, BTreeSet<String>>,
    mps: BTreeSet<String>,
}

impl Whereabouts {
    fn of(slices: &[Closed], said: &[Arc<Allocations>]) -> Self {
        let mut found = Self { of: BTreeMap::new(), mps: BTreeSet::new() };
        for slice in slices {
            for (row, owner, _) in &slice.usage {
                let Some(owner) = owner else { continue };
                let workload = claims::known(owner, said, &[]).unwrap_or_else(|| owner.clone()).workload;
                found.of.entry(workload).or_default().insert(slice.device.uuid.clone());
                if row.sharing() == Sharing::Mps {
                    found.mps.insert(slice.device.uuid.clone());
                }
            }
        }
        found
    }
}

/// The schedulers' words with such slots on the device where their holder is, and how many they are.
pub fn to_processes(slices: &[Closed], said: &[Arc<Allocations>]) -> (Vec<Arc<Allocations>>, u64) {
    let is_mps = |slice: &Closed| slice.usage.iter().any(|(row, ..)| row.sharing() == Sharing::Mps);
    if !slices.iter().any(is_mps) {
        return (said.to_vec(), 0);
    }
    let whereabouts = Whereabouts::of(slices, said);
    let mut count = 0;
    let moved = said.iter().map(|word| {
        let targets: Vec<Option<String>> =
            word.held.iter().map(|held| elsewhere(held, word, slices, &whereabouts)).collect();
        let moves = targets.iter().flatten().count();
        if moves == 0 {
            return word.clone();
        }
        count += u64::try_from(moves).expect("a node's slots are few");
        let mut word = Allocations::clone(word);
        for (held, target) in word.held.iter_mut().zip(targets) {
            if let Some(uuid) = target {
                held.target = DeviceName::Uuid(uuid).into();
            }
        }
        Arc::new(word)
    });
    (moved.collect(), count)
}

/// The one MPS device on which the holder of a slot is instead of the slot's own.
fn elsewhere(
    held: &Allocation,
    word: &Allocations,
    slices: &[Closed],
    whereabouts: &Whereabouts,
) -> Option<String> {
    if held.share == Share::WHOLE || held.to_ms.is_some() {
        return None;
    }
    let named = |uuid: &str, held: &Allocation| {
        let slice = slices.iter().find(|slice| slice.device.uuid == uuid);
        slice.is_some_and(|slice| {
            let device = &slice.device;
            held.target.device.is(DeviceFacts {
                uuid,
                index: device.index,
                minor: device.minor,
                pci_bus_id: &device.pci_bus_id,
            })
        })
    };
    let workload = held.owner.workload();
    let at = whereabouts.of.get(&workload)?;
    if at.iter().any(|uuid| named(uuid, held)) {
        return None;
    }
    let has_claim = |uuid: &String| {
        word.held.iter().any(|other| other.owner.workload() == workload && named(uuid, other))
    };
    let mut candidates = at.iter().filter(|uuid| whereabouts.mps.contains(*uuid) && !has_claim(uuid));
    match (candidates.next(), candidates.next()) {
        (Some(uuid), None) => Some(uuid.clone()),
        _ => None,
    }
}
