//! Batches: closed slices with their references turned into positions, and the identity that makes a row count once.

use crate::owner::OwnerRecord;
use crate::reading::Identity;
use crate::slice::Closed;
use schema::id::Incarnation;
use schema::wire::{Batch, Device, Gap, HostMemory, Loss, WIRE_VERSION};
use std::sync::Arc;

/// Rows in one batch at most: far below the wire's limit of 4 MiB whatever owners look like.
const ROWS_MAX: usize = 8_000;

/// Who makes batches.
#[derive(Debug, Clone)]
pub struct Maker {
    /// Cluster's name.
    pub cluster: String,
    /// Node's name.
    pub node: String,
    /// Kernel's boot id.
    pub boot_id: String,
    incarnation: Incarnation,
    next_sequence: u64,
}

impl Maker {
    /// A maker whose sequence starts at 0.
    pub fn new(cluster: String, node: String, boot_id: String, incarnation: Incarnation) -> Self {
        Self { cluster, node, boot_id, incarnation, next_sequence: 0 }
    }

    /// The collector start that batches are of.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Batches of these slices and losses; none where there is nothing to say.
    pub fn make(&mut self, closed: Vec<Closed>, losses: Vec<Loss>, now_ms: i64) -> Vec<Batch> {
        let mut batches = Vec::new();
        let mut current = Batch { losses, ..Batch::default() };
        for slice in closed {
            if current.usage.len() + slice.usage.len() > ROWS_MAX {
                batches.push(std::mem::take(&mut current));
            }
            add(&mut current, slice);
        }
        if !current.device_windows.is_empty() || !current.losses.is_empty() {
            batches.push(current);
        }
        for batch in &mut batches {
            self.seal(batch, now_ms);
        }
        batches
    }

    fn seal(&mut self, batch: &mut Batch, now_ms: i64) {
        batch.wire_version = WIRE_VERSION;
        batch.cluster.clone_from(&self.cluster);
        batch.node.clone_from(&self.node);
        batch.incarnation = self.incarnation.to_bytes();
        batch.sequence = self.next_sequence;
        batch.boot_id.clone_from(&self.boot_id);
        batch.collector_version = env!("CARGO_PKG_VERSION").to_owned();
        batch.created_at_ms = now_ms;
        self.next_sequence += 1;
    }
}

fn add(batch: &mut Batch, slice: Closed) {
    let device =
        position(&mut batch.devices, |known| known.uuid == slice.device.uuid, || device(&slice.device));
    if let Some(reason) = slice.gap {
        let (start_ms, end_ms) = (slice.window.start_ms, slice.window.end_ms);
        batch.gaps.push(Gap { device: Some(device), start_ms, end_ms, reason: reason as i32 });
    }
    for (mut usage, owner, profile) in slice.usage {
        usage.device = device;
        usage.owner = owner.map(|owner| intern_owner(batch, &owner));
        usage.profile =
            profile.map(|name| position(&mut batch.profiles, |known| *known == name, || name.clone()));
        batch.usage.push(usage);
    }
    for (row, owner) in slice.host_memory {
        let owner = intern_owner(batch, &owner);
        batch.host_memory.push(HostMemory { owner, ..row });
    }
    let mut window = slice.window;
    window.device = device;
    batch.device_windows.push(window);
}

fn intern_owner(batch: &mut Batch, owner: &Arc<OwnerRecord>) -> u32 {
    let bytes = owner.workload.0.to_be_bytes();
    position(&mut batch.owners, |known| known.workload == bytes, || owner.owner.to_wire())
}

fn position<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> u32 {
    let at = list.iter().position(is).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    u32::try_from(at).expect("a batch's lists are short")
}

fn device(identity: &Identity) -> Device {
    Device {
        uuid: identity.uuid.clone(),
        model: identity.model.clone(),
        index: identity.index,
        pci_bus_id: identity.pci_bus_id.clone(),
        memory_total_bytes: identity.memory_total_bytes,
        mig_slices: identity.mig_slices,
        driver_version: identity.driver_version.clone(),
    }
}
