//! Sums of one device's raw rows in one segment, as exact fractions.

use super::pool::usage_key;
use super::{InService, UsageKey};
use crate::import::Run;
use crate::wide::mul_div;
use schema::id::{Incarnation, WorkloadId};
use schema::share::Share;
use schema::units::HOUR_MS;
use schema::window::Window;
use schema::wire::{Batch, DeviceWindow, UsageSlice};
use std::collections::BTreeMap;

/// 1e-27 GPU-hours in a GPU-hour.
const FINE_PER_HOUR: u128 = 10u128.pow(27);

/// `ms x num` summed by denominator.
type Parts = BTreeMap<u32, u128>;

/// What was read of a device in a segment.
#[derive(Default)]
pub(super) struct Gathered {
    pub observed_ms: u128,
    /// Held on a scheduler's history, exact device time: it counts as observed.
    pub recorded: u128,
    pub unavailable_ms: u128,
    pub free_unknown_ms: u128,
    pub stranded: Parts,
    pub ghost: Parts,
    pub energy_mj: Option<u128>,
    pub memory_byte_ms: Option<u128>,
    pub oversubscribed: bool,
    pub keys: BTreeMap<UsageKey, Sums>,
}

/// What one key's rows sum to.
#[derive(Default)]
pub(super) struct Sums {
    pub natural_ms: u128,
    pub busy: Parts,
    pub unknown: Parts,
    pub energy_mj: u128,
    pub memory_byte_ms: u128,
}

/// Milliseconds of the device as exact device time: `floor(ms x 10^27 / 3,600,000)`.
pub(super) fn fine(ms: u128) -> u128 {
    fine_of(&Parts::from([(1, ms)]))
}

/// Each denominator's sum divided once, then added.
pub(super) fn fine_of(parts: &Parts) -> u128 {
    let hour_ms = HOUR_MS.unsigned_abs();
    parts
        .iter()
        .map(|(den, sum)| mul_div(FINE_PER_HOUR, *sum, u128::from(*den) * u128::from(hour_ms)).0)
        .sum()
}

/// All rows of a device that start in a segment, but those of collectors that lost the device.
pub(super) fn segment(
    device: &InService,
    segment: Window,
    batches: &[&Batch],
    lost: &[Incarnation],
) -> Gathered {
    let mut gathered = Gathered::default();
    for batch in batches.iter().filter(|b| b.cluster == device.cluster) {
        let Ok(incarnation) = Incarnation::from_bytes(&batch.incarnation) else { continue };
        if lost.contains(&incarnation) {
            continue;
        }
        let here =
            |position: u32| batch.devices.get(position as usize).is_some_and(|d| d.uuid == device.device);
        for window in &batch.device_windows {
            if here(window.device) && segment.contains(window.start_ms) {
                gathered.take_window(window);
            }
        }
        for slice in &batch.usage {
            if here(slice.device) && segment.contains(slice.start_ms) {
                gathered.take_slice(slice, batch);
            }
        }
    }
    gathered
}

impl Gathered {
    /// Runs of a scheduler's history that name the device.
    pub(super) fn take_history(&mut self, device: &InService, segment: Window, history: &[Run]) {
        let here = |run: &&Run| {
            run.key.cluster == device.cluster && run.device.as_deref() == Some(device.device.as_str())
        };
        for run in history.iter().filter(here) {
            let Some(piece) = segment.intersect(&run.window()) else { continue };
            let natural_ms = piece.len_ms().unsigned_abs() * u64::from(run.gpus);
            let parts = u128::from(natural_ms) * u128::from(run.share.num);
            let den = u128::from(run.share.den) * u128::from(HOUR_MS.unsigned_abs());
            let (whole, rest) = mul_div(FINE_PER_HOUR, parts, den);
            // Rounded up, so that it is never less than what the run holds of it.
            self.recorded += whole + u128::from(rest > 0);
            let sums = self.keys.entry(usage_key(run)).or_default();
            sums.natural_ms += u128::from(natural_ms);
            add(&mut sums.unknown, natural_ms, run.share.num, run.share.den);
        }
    }

    fn take_window(&mut self, window: &DeviceWindow) {
        self.observed_ms += u128::from(window.observed_ms);
        self.unavailable_ms += u128::from(window.unavailable_ms);
        self.free_unknown_ms += u128::from(window.free_unknown_ms);
        add(&mut self.stranded, window.observed_ms, window.stranded_num, window.stranded_den);
        self.oversubscribed |= window.oversubscribed;
        let sum = |sum: &mut Option<u128>, value: Option<u64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0) + u128::from(value));
            }
        };
        sum(&mut self.energy_mj, window.energy_mj);
        sum(&mut self.memory_byte_ms, window.memory_byte_ms);
    }

    fn take_slice(&mut self, slice: &UsageSlice, batch: &Batch) {
        let Some(owner) = slice.owner else {
            add(&mut self.ghost, slice.busy_ms.unwrap_or(0), slice.weight_num, slice.weight_den);
            return;
        };
        let Some(key) = key_of(slice, owner, batch) else { return };
        let sums = self.keys.entry(key).or_default();
        sums.natural_ms += u128::from(slice.allocated_ms.or(slice.resident_ms).unwrap_or(0));
        match slice.busy_ms {
            Some(busy_ms) => add(&mut sums.busy, busy_ms, slice.weight_num, slice.weight_den),
            None => {
                let there_ms = slice.resident_ms.or(slice.allocated_ms).unwrap_or(0);
                add(&mut sums.unknown, there_ms, slice.weight_num, slice.weight_den);
            }
        }
        sums.energy_mj += u128::from(slice.energy_mj.unwrap_or(0));
        sums.memory_byte_ms += u128::from(slice.memory_byte_ms.unwrap_or(0));
    }
}

fn key_of(slice: &UsageSlice, owner: u32, batch: &Batch) -> Option<UsageKey> {
    let owner = batch.owners.get(owner as usize)?;
    let instance = |id: Option<u32>| id.map_or(Some(-1), |id| i32::try_from(id).ok());
    let profile = match slice.profile {
        Some(position) => batch.profiles.get(position as usize)?.clone(),
        None => String::new(),
    };
    Some(UsageKey {
        workload: WorkloadId::from_bytes(&owner.workload).ok()?,
        gpu_instance: instance(slice.gpu_instance)?,
        compute_instance: instance(slice.compute_instance)?,
        profile,
        sharing: slice.sharing,
        share: Share { num: slice.share_num, den: slice.share_den },
        quality: slice.held_quality,
        busy_kind: slice.busy_kind,
        busy_quality: slice.busy_quality,
        unwatched: slice.resident_ms.is_none() && slice.allocated_ms.unwrap_or(0) > 0,
    })
}

/// A denominator of 0 is refused at ingest; here it counts as nothing rather than stop the hour.
fn add(parts: &mut Parts, ms: u64, num: u32, den: u32) {
    if den > 0 {
        *parts.entry(den).or_default() += u128::from(ms) * u128::from(num);
    }
}
