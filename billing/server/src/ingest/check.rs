//! When a row may be counted. Each rule is a sentence that the dead letter carries.

use schema::units::QUARTER_MS;
use schema::wire::{Batch, DeviceWindow, Gap, HostMemory, UsageSlice, XIDS_MAX};

/// A clock that is further ahead than this isn't trusted.
const FUTURE_MS_MAX: i64 = 5 * 60_000;
/// Older rows need a credential that may write the past.
const PAST_MS_MAX: i64 = 35 * 24 * 3_600_000;
/// Parts of a share or weight: slices times slots, percent or per mille of several clients, with room.
const PARTS_MAX: u32 = 1_000_000;
/// A quarter hour at 100 kW, in millijoules: a counter that claims more has gone wrong.
const ENERGY_MJ_MAX: u64 = 90_000_000_000;
/// A quarter hour of 16 TiB, in byte-milliseconds.
const MEMORY_BYTE_MS_MAX: u64 = (1 << 44) * 900_000;
/// How far from its window an XID may lie: windows close minutes after what they carry.
const XID_AWAY_MS: i64 = 3_600_000;
/// What a batch's rows are judged against.
#[derive(Debug, Clone, Copy)]
pub struct Judge {
    /// Now, Unix milliseconds.
    pub now_ms: i64,
    /// The credential may write the past.
    pub backfill: bool,
}

impl Judge {
    fn window(&self, start_ms: i64, end_ms: i64, any_length: bool) -> Result<i64, &'static str> {
        if start_ms < 0 || start_ms >= end_ms {
            return Err("the window is empty, backwards or before 1970");
        }
        if end_ms > self.now_ms + FUTURE_MS_MAX {
            return Err("the window ends more than 5 minutes in the future");
        }
        if start_ms < self.now_ms - PAST_MS_MAX && !self.backfill {
            return Err("the window is older than 35 days and the credential may not write the past");
        }
        if !any_length && start_ms / QUARTER_MS != (end_ms - 1) / QUARTER_MS {
            return Err("the window is not within one quarter hour");
        }
        Ok(end_ms - start_ms)
    }

    /// Whether a slice may be counted.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn slice(&self, slice: &UsageSlice, batch: &Batch) -> Result<(), &'static str> {
        let len = self.window(slice.start_ms, slice.end_ms, false)?;
        device(slice.device, batch)?;
        if slice.owner.is_some_and(|o| o as usize >= batch.owners.len()) {
            return Err("the owner is not in the batch");
        }
        if slice.profile.is_some_and(|p| p as usize >= batch.profiles.len()) {
            return Err("the profile is not in the batch");
        }
        fraction(slice.share_num, slice.share_den)?;
        fraction(slice.weight_num, slice.weight_den)?;
        let times = [slice.allocated_ms, slice.resident_ms, slice.busy_ms];
        if times.into_iter().flatten().any(|t| !within(t, len)) {
            return Err("a time is longer than its window");
        }
        if [slice.gpu_instance, slice.compute_instance].into_iter().flatten().any(|i| i > i32::MAX as u32) {
            return Err("an instance id is out of range");
        }
        energy_and_memory(slice.energy_mj, slice.memory_byte_ms)?;
        enums(&[slice.sharing, slice.busy_kind, slice.held_quality, slice.busy_quality, slice.unknown_reason])
    }

    /// Whether a device window may be counted.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn device_window(&self, window: &DeviceWindow, batch: &Batch) -> Result<(), &'static str> {
        let len = self.window(window.start_ms, window.end_ms, false)?;
        device(window.device, batch)?;
        if !within(window.observed_ms.saturating_add(window.unavailable_ms), len) {
            return Err("observed and unavailable time are longer than the window");
        }
        if window.free_unknown_ms > window.observed_ms || window.busy_ms.is_some_and(|b| !within(b, len)) {
            return Err("a time is longer than what was observed");
        }
        fraction(window.stranded_num, window.stranded_den)?;
        if window.instances.len() > 64
            || window.instances.iter().any(|i| i.uuid.len() > 128 || i.profile.len() > 64)
        {
            return Err("the MIG layout is larger than any device's");
        }
        let near = window.start_ms - XID_AWAY_MS..=window.end_ms + XID_AWAY_MS;
        if window.xids.len() > XIDS_MAX || window.xids.iter().any(|xid| !near.contains(&xid.at_ms)) {
            return Err("the XIDs are more than a window carries, or of another time");
        }
        energy_and_memory(window.energy_mj, window.memory_byte_ms)?;
        enums(&[window.reason, window.busy_kind])
    }

    /// Whether a row of host memory may be kept.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn host_memory(&self, row: &HostMemory, batch: &Batch) -> Result<(), &'static str> {
        self.window(row.start_ms, row.end_ms, false)?;
        if row.owner as usize >= batch.owners.len() {
            return Err("the owner is not in the batch");
        }
        if row.near_byte_ms.max(row.far_byte_ms) > MEMORY_BYTE_MS_MAX {
            return Err("the memory is more than any host has");
        }
        Ok(())
    }

    /// Whether a gap may be kept; a gap may be of any length.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn gap(&self, gap: &Gap, batch: &Batch) -> Result<(), &'static str> {
        self.window(gap.start_ms, gap.end_ms, true)?;
        gap.device.map_or(Ok(()), |d| device(d, batch))?;
        enums(&[gap.reason])
    }
}

fn within(time_ms: u64, len_ms: i64) -> bool {
    i64::try_from(time_ms).is_ok_and(|t| t <= len_ms)
}

fn device(position: u32, batch: &Batch) -> Result<(), &'static str> {
    let device = batch.devices.get(position as usize).ok_or("the device is not in the batch")?;
    if device.uuid.is_empty() || device.uuid.len() > 128 || device.model.len() > 256 {
        return Err("the device has no UUID, or a name longer than any real one");
    }
    Ok(())
}

fn fraction(num: u32, den: u32) -> Result<(), &'static str> {
    if den == 0 || num > den || den > PARTS_MAX {
        return Err("a share or weight is not a fraction of at most 1, in at most a million parts");
    }
    Ok(())
}

fn energy_and_memory(energy_mj: Option<u64>, memory_byte_ms: Option<u64>) -> Result<(), &'static str> {
    if energy_mj.is_some_and(|e| e > ENERGY_MJ_MAX) {
        return Err("the energy is more than any device can draw");
    }
    if memory_byte_ms.is_some_and(|m| m > MEMORY_BYTE_MS_MAX) {
        return Err("the memory is more than any device has");
    }
    Ok(())
}

fn enums(values: &[i32]) -> Result<(), &'static str> {
    if values.iter().any(|v| u8::try_from(*v).is_err()) {
        return Err("an enumeration is out of range");
    }
    Ok(())
}
