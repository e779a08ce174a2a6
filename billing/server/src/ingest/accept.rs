//! From an encoded batch to rows: pure, no clock, no IO. What is accepted and what is refused add up to what came.

use super::check::Judge;
use crate::store::keys::NodeKey;
use crate::store::rows::{
    BatchRow, DeadLetterRow, DeviceRow, GapRow, HostMemoryRow, LossRow, Origin, OwnerRow, Rows, SightingRow,
    UsageRow, XidRow, hour_s,
};
use prost::Message;
use schema::id::{Incarnation, WorkloadId};
use schema::owner::{Owner, OwnerKind};
use schema::wire::{BATCH_BYTES_MAX, Batch, DeviceWindow, UsageSlice, WIRE_VERSION};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The most of a refused row that is kept, bytes.
const CONTENT_BYTES_MAX: usize = 4096;
/// The most text that an owner may carry, bytes: evidence, and attributes together.
const OWNER_BYTES_MAX: usize = 8192;

/// The rows of one encoded batch, sent by `key`'s node and received at `now_ms`.
pub fn accept(encoded: &[u8], key: &NodeKey, now_ms: i64) -> Rows {
    let hash = Sha256::digest(encoded);
    let batch_hash = u64::from_be_bytes(hash[..8].try_into().expect("a digest has 32 bytes"));
    let mut origin = Origin {
        cluster: key.cluster.clone(),
        node: key.node.clone(),
        incarnation: 0,
        sequence: 0,
        batch_hash,
    };
    let batch = match read(encoded, key) {
        Ok((batch, incarnation)) => {
            (origin.incarnation, origin.sequence) = (incarnation.0, batch.sequence);
            batch
        }
        Err(reason) => {
            let mut rows = Rows::default();
            let content = encoded.iter().take(CONTENT_BYTES_MAX / 2).map(|b| format!("{b:02x}")).collect();
            rows.dead_letters.push(dead_letter(&origin, "batch", 0, &reason, content, now_ms));
            return rows;
        }
    };
    Accepting { judge: Judge { now_ms, backfill: key.backfill }, origin, rows: Rows::default() }.all(&batch)
}

fn read(encoded: &[u8], key: &NodeKey) -> Result<(Batch, Incarnation), String> {
    if encoded.len() > BATCH_BYTES_MAX {
        return Err(format!("the batch is larger than {BATCH_BYTES_MAX} bytes"));
    }
    let batch = Batch::decode(encoded).map_err(|e| format!("not a batch: {e}"))?;
    if batch.wire_version > WIRE_VERSION {
        return Err(format!(
            "wire version {} is newer than this server's {WIRE_VERSION}",
            batch.wire_version
        ));
    }
    if batch.cluster != key.cluster || batch.node != key.node {
        return Err("the batch is another node's than the credential".into());
    }
    let incarnation = Incarnation::from_bytes(&batch.incarnation).map_err(|e| format!("incarnation: {e}"))?;
    Ok((batch, incarnation))
}

fn dead_letter(
    origin: &Origin,
    kind: &str,
    row: u32,
    reason: &str,
    mut content: String,
    now_ms: i64,
) -> DeadLetterRow {
    let mut end = content.len().min(CONTENT_BYTES_MAX);
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    content.truncate(end);
    DeadLetterRow {
        received_at_ms: now_ms,
        cluster: origin.cluster.clone(),
        node: origin.node.clone(),
        incarnation: origin.incarnation,
        sequence: origin.sequence,
        kind: kind.into(),
        row,
        batch_hash: origin.batch_hash,
        reason: reason.into(),
        content,
    }
}

struct Accepting {
    judge: Judge,
    origin: Origin,
    rows: Rows,
}

impl Accepting {
    fn all(mut self, batch: &Batch) -> Rows {
        let owners: Vec<Result<OwnerRow, &'static str>> =
            batch.owners.iter().map(|owner| owner_row(owner, &self.origin)).collect();
        for (row, slice) in (0..).zip(&batch.usage) {
            let judged = self.judge.slice(slice, batch).and_then(|()| match slice.owner {
                None => Ok(WorkloadId::GHOST.0),
                Some(o) => owners[o as usize].as_ref().map(|owner| owner.workload).map_err(|reason| *reason),
            });
            match judged {
                Ok(workload) => self.rows.usage.push(usage_row(slice, batch, &self.origin, row, workload)),
                Err(reason) => self.refuse("usage", row, reason, slice),
            }
        }
        for (row, window) in (0..).zip(&batch.device_windows) {
            match self.judge.device_window(window, batch) {
                Ok(()) => {
                    let device = device_row(window, batch, &self.origin, row);
                    self.rows.xids.extend(window.xids.iter().map(|xid| xid_row(*xid, &device)));
                    self.rows.devices.push(device);
                }
                Err(reason) => self.refuse("device", row, reason, window),
            }
        }
        for (row, gap) in (0..).zip(&batch.gaps) {
            match self.judge.gap(gap, batch) {
                Ok(()) => self.gap(gap, batch, row),
                Err(reason) => self.refuse("gap", row, reason, gap),
            }
        }
        for (row, held) in (0..).zip(&batch.host_memory) {
            let judged = self.judge.host_memory(held, batch).and_then(|()| {
                owners[held.owner as usize].as_ref().map(|owner| owner.workload).map_err(|reason| *reason)
            });
            match judged {
                Ok(workload) => self.host_memory(held, row, workload),
                Err(reason) => self.refuse("host_memory", row, reason, held),
            }
        }
        for (row, loss) in (0..).zip(&batch.losses) {
            match Incarnation::from_bytes(&loss.incarnation) {
                Ok(incarnation) if loss.first_sequence <= loss.last_sequence && loss.reason.len() <= 64 => {
                    self.rows.losses.push(LossRow {
                        cluster: self.origin.cluster.clone(),
                        node: self.origin.node.clone(),
                        incarnation: incarnation.0,
                        first_sequence: loss.first_sequence,
                        last_sequence: loss.last_sequence,
                        reason: loss.reason.clone(),
                        received_at_ms: self.judge.now_ms,
                    });
                }
                _ => self.refuse("loss", row, "the loss has no incarnation or runs backwards", loss),
            }
        }
        self.rows.owners = owners.into_iter().flatten().collect();
        self.rows.sightings = sightings(batch, &self.rows.devices);
        self.batch(batch);
        self.rows
    }

    fn refuse(&mut self, kind: &str, row: u32, reason: &str, content: &impl std::fmt::Debug) {
        let letter = dead_letter(&self.origin, kind, row, reason, format!("{content:?}"), self.judge.now_ms);
        self.rows.dead_letters.push(letter);
    }

    fn gap(&mut self, gap: &schema::wire::Gap, batch: &Batch, row: u32) {
        let o = &self.origin;
        self.rows.gaps.push(GapRow {
            hour: hour_s(gap.start_ms),
            cluster: o.cluster.clone(),
            node: o.node.clone(),
            incarnation: o.incarnation,
            sequence: o.sequence,
            row,
            batch_hash: o.batch_hash,
            device: gap.device.map_or_else(String::new, |d| batch.devices[d as usize].uuid.clone()),
            start_ms: gap.start_ms,
            end_ms: gap.end_ms,
            reason: small(gap.reason),
        });
    }

    fn host_memory(&mut self, held: &schema::wire::HostMemory, row: u32, workload: u128) {
        let o = &self.origin;
        self.rows.host_memory.push(HostMemoryRow {
            hour: hour_s(held.start_ms),
            cluster: o.cluster.clone(),
            node: o.node.clone(),
            incarnation: o.incarnation,
            sequence: o.sequence,
            row,
            batch_hash: o.batch_hash,
            workload,
            start_ms: held.start_ms,
            end_ms: held.end_ms,
            near_byte_ms: held.near_byte_ms,
            far_byte_ms: held.far_byte_ms,
        });
    }

    /// The batch's own row: which hours have news.
    fn batch(&mut self, batch: &Batch) {
        let hours = || self.rows.usage.iter().map(|r| r.hour).chain(self.rows.devices.iter().map(|r| r.hour));
        // A batch that touches no hour (only gaps or losses) is stored under the hour that it was made in.
        let made = hour_s(batch.created_at_ms.clamp(0, self.judge.now_ms));
        let row = BatchRow {
            cluster: self.origin.cluster.clone(),
            node: self.origin.node.clone(),
            incarnation: self.origin.incarnation,
            sequence: self.origin.sequence,
            batch_hash: self.origin.batch_hash,
            first_hour: hours().min().unwrap_or(made),
            last_hour: hours().max().unwrap_or(made),
            usage_rows: count(self.rows.usage.len()),
            device_rows: count(self.rows.devices.len()),
            dead_letters: count(self.rows.dead_letters.len()),
            boot_id: batch.boot_id.chars().take(64).collect(),
            collector_version: batch.collector_version.chars().take(64).collect(),
            created_at_ms: batch.created_at_ms,
            received_at_ms: self.judge.now_ms,
        };
        self.rows.batches.push(row);
    }
}

fn usage_row(slice: &UsageSlice, batch: &Batch, o: &Origin, row: u32, workload: u128) -> UsageRow {
    let instance = |id: Option<u32>| id.map_or(-1, |id| i32::try_from(id).expect("checked"));
    UsageRow {
        hour: hour_s(slice.start_ms),
        cluster: o.cluster.clone(),
        node: o.node.clone(),
        incarnation: o.incarnation,
        sequence: o.sequence,
        row,
        batch_hash: o.batch_hash,
        device: batch.devices[slice.device as usize].uuid.clone(),
        workload,
        start_ms: slice.start_ms,
        end_ms: slice.end_ms,
        gpu_instance: instance(slice.gpu_instance),
        compute_instance: instance(slice.compute_instance),
        profile: slice
            .profile
            .map_or_else(String::new, |p| batch.profiles[p as usize].chars().take(64).collect()),
        sharing: small(slice.sharing),
        share_num: slice.share_num,
        share_den: slice.share_den,
        allocated_ms: slice.allocated_ms,
        resident_ms: slice.resident_ms,
        busy_ms: slice.busy_ms,
        busy_kind: small(slice.busy_kind),
        weight_num: slice.weight_num,
        weight_den: slice.weight_den,
        memory_byte_ms: slice.memory_byte_ms,
        energy_mj: slice.energy_mj,
        held_quality: small(slice.held_quality),
        busy_quality: small(slice.busy_quality),
        unknown_reason: small(slice.unknown_reason),
    }
}

fn device_row(window: &DeviceWindow, batch: &Batch, o: &Origin, row: u32) -> DeviceRow {
    let instance = |i: &schema::wire::MigInstance| {
        (i.gpu_instance, i.compute_instance, i.uuid.clone(), i.profile.clone(), i.slices)
    };
    DeviceRow {
        hour: hour_s(window.start_ms),
        cluster: o.cluster.clone(),
        node: o.node.clone(),
        incarnation: o.incarnation,
        sequence: o.sequence,
        row,
        batch_hash: o.batch_hash,
        device: batch.devices[window.device as usize].uuid.clone(),
        start_ms: window.start_ms,
        end_ms: window.end_ms,
        observed_ms: window.observed_ms,
        unavailable_ms: window.unavailable_ms,
        reason: small(window.reason),
        mig: window.mig,
        instances: window.instances.iter().map(instance).collect(),
        stranded_num: window.stranded_num,
        stranded_den: window.stranded_den,
        busy_ms: window.busy_ms,
        busy_kind: small(window.busy_kind),
        energy_mj: window.energy_mj,
        energy_reset: window.energy_reset,
        memory_byte_ms: window.memory_byte_ms,
        oversubscribed: window.oversubscribed,
        free_unknown_ms: window.free_unknown_ms,
    }
}

fn xid_row(xid: schema::wire::Xid, window: &DeviceRow) -> XidRow {
    XidRow {
        hour: hour_s(xid.at_ms),
        cluster: window.cluster.clone(),
        node: window.node.clone(),
        incarnation: window.incarnation,
        sequence: window.sequence,
        row: window.row,
        batch_hash: window.batch_hash,
        device: window.device.clone(),
        at_ms: xid.at_ms,
        number: xid.number,
    }
}

/// An owner whose id is really the hash of its identity: nobody can write under another workload's id.
fn owner_row(wire: &schema::wire::Owner, o: &Origin) -> Result<OwnerRow, &'static str> {
    let id =
        WorkloadId::from_bytes(&wire.workload).map_err(|_| "the owner's workload id has not 16 bytes")?;
    let owner = Owner::from_wire(wire);
    let text: usize = owner.attributes.iter().map(|(k, v)| k.len() + v.len()).sum();
    if text + owner.evidence.len() > OWNER_BYTES_MAX {
        return Err("the owner carries more text than any real one");
    }
    // A kind that is newer than this build can't be hashed here; its id is taken as it is.
    if id == WorkloadId::GHOST || (owner.kind != OwnerKind::Unspecified && owner.workload() != id) {
        return Err("the owner's workload id is not the hash of its identity");
    }
    Ok(OwnerRow {
        workload: id.0,
        kind: small(wire.kind),
        attributes: owner.attributes.into_iter().collect(),
        cluster: o.cluster.clone(),
        node: o.node.clone(),
        evidence: owner.evidence,
    })
}

/// One sighting a device, over the windows that were accepted.
fn sightings(batch: &Batch, windows: &[DeviceRow]) -> Vec<SightingRow> {
    let mut spans: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for w in windows {
        let span = spans.entry(&w.device).or_insert((w.start_ms, w.end_ms));
        *span = (span.0.min(w.start_ms), span.1.max(w.end_ms));
    }
    let sighting = |(uuid, (first_seen_ms, last_seen_ms)): (&str, (i64, i64))| {
        let device = batch.devices.iter().find(|d| d.uuid == uuid)?;
        Some(SightingRow {
            cluster: batch.cluster.clone(),
            device: uuid.into(),
            node: batch.node.clone(),
            model: device.model.clone(),
            device_index: device.index,
            pci_bus_id: device.pci_bus_id.chars().take(64).collect(),
            memory_total_bytes: device.memory_total_bytes,
            mig_slices: device.mig_slices,
            driver_version: device.driver_version.chars().take(64).collect(),
            first_seen_ms,
            last_seen_ms,
        })
    };
    spans.into_iter().filter_map(sighting).collect()
}

fn small(value: i32) -> u8 {
    // Checked for rows; an owner kind out of range reads as unspecified.
    u8::try_from(value).unwrap_or(0)
}

fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
