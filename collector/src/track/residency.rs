//! Who was there from when to when, from two process lists and what the gauges said between them.

use super::span::Span;
use crate::attribution::{Holder, MpsClient, Place, Shape};
use crate::owner::{OwnerLookup, OwnerRecord, ProcessOwner};
use crate::reading::{Field, Gauges};
use schema::owner::{Owner, OwnerKind, key};
use std::collections::BTreeMap;

/// A process (or virtual machine) on a list.
#[derive(Debug, Clone)]
pub struct Resident {
    /// Host PID, or the vGPU instance id.
    pub pid: u32,
    /// Kernel's start time; with the PID its identity.
    pub start_ticks: u64,
    /// When it started, Unix milliseconds.
    pub started_ms: Option<i64>,
    /// Framebuffer it has.
    pub memory_bytes: Option<u64>,
    /// Whose and where.
    pub holder: Holder,
}

/// A process's time on the device.
#[derive(Debug, Clone)]
pub(super) struct Stay {
    pub pid: u32,
    pub start_ms: i64,
    pub end_ms: i64,
    /// Mean of what it held during it.
    pub memory_bytes: Option<u64>,
    pub holder: Holder,
}

/// The list of a reading of this device with owners; `None` where the reading didn't ask.
pub(super) fn list(
    gauges: &Gauges,
    uuid: &str,
    shape: &Shape,
    owners: &mut dyn OwnerLookup,
) -> Option<Field<Vec<Resident>>> {
    let processes = match gauges.processes.as_ref()? {
        Ok(processes) => processes,
        Err(reason) => return Some(Err(*reason)),
    };
    if let Some(vgpus) = &gauges.vgpus {
        return Some(Ok(vgpus.iter().map(machine).collect()));
    }
    let listed_clients = processes.iter().any(|process| process.mps_client);
    let mut residents: Vec<Resident> = Vec::with_capacity(processes.len());
    for process in processes {
        let Some(place) = place(shape, process.gpu_instance, process.compute_instance) else { continue };
        let found = owners.lookup(process.pid);
        if found.mps_server && !process.mps_client {
            // The server works for its clients: where they are known, it isn't a holder beside them, and its own memory
            // is nobody's.
            let clients = owners.mps_clients_of(process.pid, uuid);
            let known = listed_clients || !clients.is_empty();
            for pid in clients.into_iter().filter(|pid| processes.iter().all(|listed| listed.pid != *pid)) {
                let found = owners.lookup(pid);
                let client = owners.mps_client(pid, found.start_ticks).unwrap_or_default();
                residents.push(resident(pid, None, found, place, Some(client)));
            }
            if known {
                continue;
            }
        }
        let said = owners.mps_client(process.pid, found.start_ticks);
        let client = said.or_else(|| process.mps_client.then(MpsClient::default));
        residents.push(resident(process.pid, process.memory_bytes, found, place, client));
    }
    Some(Ok(residents))
}

fn resident(
    pid: u32,
    memory_bytes: Option<u64>,
    found: ProcessOwner,
    place: Place,
    mps: Option<MpsClient>,
) -> Resident {
    Resident {
        pid,
        start_ticks: found.start_ticks,
        started_ms: found.started_ms,
        memory_bytes,
        holder: Holder { owner: found.owner, place, mps, vgpu_slots: None },
    }
}

/// Where a process is. Under MIG an id that NVML leaves out is known where there is only one possibility.
fn place(shape: &Shape, gi: Option<u32>, ci: Option<u32>) -> Option<Place> {
    let Some(instances) = &shape.instances else { return Some(Place::DEVICE) };
    let mut fitting = instances
        .iter()
        .map(|(i, _)| (i.gpu_instance, i.compute_instance))
        .filter(|(g, c)| gi.is_none_or(|gi| gi == *g) && ci.is_none_or(|ci| ci == *c));
    match (fitting.next(), fitting.next()) {
        (Some((gi, ci)), None) => Some(Place::instance(gi, ci)),
        _ => None,
    }
}

fn machine(vgpu: &crate::reading::Vgpu) -> Resident {
    let attributes = BTreeMap::from([(key::VM_ID.to_owned(), vgpu.vm_id.clone())]);
    let evidence = format!("vGPU {} of type {}", vgpu.id, vgpu.type_name);
    let owner = OwnerRecord::new(Owner { kind: OwnerKind::Vm, attributes, evidence });
    Resident {
        pid: vgpu.id,
        start_ticks: 0,
        started_ms: None,
        memory_bytes: vgpu.memory_bytes,
        holder: Holder { owner, place: Place::DEVICE, mps: None, vgpu_slots: Some(vgpu.max_instances) },
    }
}

fn same(a: &Resident, b: &Resident) -> bool {
    a.pid == b.pid && a.start_ticks == b.start_ticks && a.holder.place == b.holder.place
}

/// Everybody stayed: what is assumed of the time after the last list where the next never came.
pub(super) fn unchanged(residents: &[Resident], from_ms: i64, to_ms: i64) -> Vec<Stay> {
    residents.iter().map(|r| stay(r, from_ms, to_ms, r.memory_bytes)).collect()
}

fn stay(resident: &Resident, start_ms: i64, end_ms: i64, memory_bytes: Option<u64>) -> Stay {
    Stay { pid: resident.pid, start_ms, end_ms, memory_bytes, holder: resident.holder.clone() }
}

/// Stays between two lists; the rules of the edges are those of the module above.
pub(super) fn stays(
    before: &[Resident],
    after: &[Resident],
    from_ms: i64,
    to_ms: i64,
    spans: &[Span],
) -> Vec<Stay> {
    let middle = |a: i64, b: i64| a + (b - a) / 2;
    let mut stays = Vec::with_capacity(after.len() + 1);
    for new in after {
        match before.iter().find(|old| same(old, new)) {
            Some(old) => {
                let mean =
                    old.memory_bytes.zip(new.memory_bytes).map(|(a, b)| a / 2 + b / 2 + (a % 2 + b % 2) / 2);
                stays.push(stay(new, from_ms, to_ms, mean));
            }
            None => {
                let started = new.started_ms.filter(|at| *at >= from_ms).map(|at| at.min(to_ms));
                stays.push(stay(
                    new,
                    started.unwrap_or_else(|| middle(from_ms, to_ms)),
                    to_ms,
                    new.memory_bytes,
                ));
            }
        }
    }
    let newcomers = stays.iter().filter(|s| s.start_ms > from_ms).map(|s| (s.holder.place, s.start_ms));
    let newcomers: Vec<(Place, i64)> = newcomers.collect();
    for old in before.iter().filter(|old| !after.iter().any(|new| same(old, new))) {
        let place = old.holder.place;
        let alone = before.iter().filter(|other| other.holder.place == place).count() == 1;
        let last_busy = spans.iter().rev().find_map(|span| {
            let own = span.last_sample_ms(old.pid);
            let device = (alone && place == Place::DEVICE).then(|| span.last_busy_ms()).flatten();
            own.max(device)
        });
        // A number that is used again: what was seen of it from then on is of the process that has it now.
        let reused = after.iter().filter(|new| new.pid == old.pid).find_map(|new| new.started_ms);
        let until_ms = reused.unwrap_or(to_ms).clamp(from_ms, to_ms);
        let sign_of_life = last_busy.filter(|at| *at > from_ms && *at <= until_ms);
        let first_newcomer = newcomers.iter().filter(|(p, _)| *p == place).map(|(_, at)| *at).min();
        let latest = first_newcomer.filter(|at| sign_of_life.is_none_or(|sign| *at >= sign)).unwrap_or(to_ms);
        let left = sign_of_life.map_or_else(|| middle(from_ms, latest), |sign| sign.min(latest));
        stays.push(stay(old, from_ms, left, old.memory_bytes));
    }
    stays
}
