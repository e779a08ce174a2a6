//! Who held and used what, during a stretch of time in which nobody came or went: pure, in integers.
//!
//! The law: the shares held sum to no more than the device; the busy time handed out is the device's (or instance's)
//! own, to the nanosecond. A figure that isn't known is handed out to nobody.

mod busy;
mod energy;
mod scale;

pub use busy::{Busy, BusyInput, InstanceBusy, RowBusy, attribute_busy};
pub use energy::{EnergyInput, attribute_energy};
pub use scale::scale;

use crate::owner::OwnerRecord;
use schema::share::Share;
use schema::wire::{MigInstance, Quality, Sharing};
use std::sync::Arc;

/// A part of a device: the whole (`None`s), a GPU instance, or a compute instance in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// GPU instance id.
    pub gpu_instance: Option<u32>,
    /// Compute instance id.
    pub compute_instance: Option<u32>,
}

impl Place {
    /// The device outside MIG.
    pub const DEVICE: Place = Place { gpu_instance: None, compute_instance: None };

    /// A compute instance.
    pub fn instance(gpu_instance: u32, compute_instance: u32) -> Self {
        Self { gpu_instance: Some(gpu_instance), compute_instance: Some(compute_instance) }
    }
}

/// How a device is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Compute slices of the whole device; 1 outside MIG.
    pub slices: u32,
    /// MIG instances with the slices of their GPU instance; `None` outside MIG.
    pub instances: Option<Vec<(MigInstance, u32)>>,
    /// Whether the device itself measures its instances' activity: Hopper and newer.
    pub measures_instances: bool,
}

impl Shape {
    /// Slices that no compute instance covers.
    pub fn stranded(&self) -> Share {
        match &self.instances {
            None => Share::NONE,
            Some(all) => {
                let covered: u32 = all.iter().map(|(instance, _)| instance.slices).sum();
                Share::new(self.slices.saturating_sub(covered), self.slices)
            }
        }
    }
}

/// A client of an MPS server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MpsClient {
    /// Active-thread percentage: 1 to 100, and 100 is no limit. `None` where nobody says.
    pub threads_percent: Option<u32>,
}

/// Somebody who is there.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Whose process it is.
    pub owner: Arc<OwnerRecord>,
    /// Where it is.
    pub place: Place,
    /// It is a client of an MPS server; the part of the device's threads that it may use, where that is known.
    pub mps: Option<MpsClient>,
    /// It is a virtual machine, and so many of its vGPU's type fit on the device.
    pub vgpu_slots: Option<Option<u32>>,
}

/// One workload's hold on one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Whose.
    pub owner: Arc<OwnerRecord>,
    /// Where.
    pub place: Place,
    /// How the place is divided.
    pub sharing: Sharing,
    /// Share of the device held.
    pub share: Share,
    /// Device time per busy time of the place.
    pub weight: Share,
    /// How far the share can be trusted.
    pub quality: Quality,
}

/// The rows of the holders, in order of place and workload, and whether shares were scaled down to the device.
pub fn divide(shape: &Shape, holders: &[Holder]) -> (Vec<Row>, bool) {
    match &shape.instances {
        Some(instances) => {
            let mut rows = Vec::new();
            for (instance, _) in instances {
                let place = Place::instance(instance.gpu_instance, instance.compute_instance);
                let whole = Share::new(instance.slices, shape.slices);
                let alone = if shape.measures_instances { Quality::Measured } else { Quality::Allocated };
                rows.extend(equal(holders, place, whole, Sharing::Mig, Sharing::MigShared, alone));
            }
            (rows, false)
        }
        None if holders.iter().any(|holder| holder.vgpu_slots.is_some()) => {
            let rows =
                equal(holders, Place::DEVICE, Share::WHOLE, Sharing::Vgpu, Sharing::Vgpu, Quality::Measured);
            // A machine holds the slots of its vGPUs' types.
            let slots = |h: &Holder| Some(Share::new(1, h.vgpu_slots.flatten()?.max(1)));
            entitled(rows, holders, Quality::Measured, slots)
        }
        None if holders.iter().any(|holder| holder.mps.is_some()) => {
            let rows =
                equal(holders, Place::DEVICE, Share::WHOLE, Sharing::Mps, Sharing::Mps, Quality::Measured);
            let limit = |h: &Holder| h.mps?.threads_percent;
            if holders.iter().all(|h| limit(h).is_none_or(|percent| percent >= 100)) {
                return (rows, false);
            }
            entitled(rows, holders, Quality::Allocated, |h| Some(Share::new(limit(h)?.clamp(1, 100), 100)))
        }
        None => {
            let rows = equal(
                holders,
                Place::DEVICE,
                Share::WHOLE,
                Sharing::Whole,
                Sharing::TimeSliced,
                Quality::Measured,
            );
            (rows, false)
        }
    }
}

/// The rows with the shares that their holders are entitled to, scaled to the device where they exceed it. Where one of
/// them isn't known, the parts stay equal.
fn entitled(
    mut rows: Vec<Row>,
    holders: &[Holder],
    quality: Quality,
    of: impl Fn(&Holder) -> Option<Share>,
) -> (Vec<Row>, bool) {
    let of_row = |row: &Row| {
        let own = holders.iter().filter(|h| h.owner.workload == row.owner.workload);
        own.map(&of).collect::<Option<Vec<Share>>>()
    };
    let Some(all) = rows.iter().map(of_row).collect::<Option<Vec<_>>>() else { return (rows, false) };
    let (shares, over) = scale(&all);
    for (row, share) in rows.iter_mut().zip(shares) {
        (row.share, row.quality) = (share, quality);
    }
    (rows, over)
}

/// Distinct owners of a place hold it equally: nothing on the node says otherwise.
fn equal(
    holders: &[Holder],
    place: Place,
    whole: Share,
    one: Sharing,
    several: Sharing,
    alone: Quality,
) -> Vec<Row> {
    let mut owners: Vec<&Arc<OwnerRecord>> =
        holders.iter().filter(|h| h.place == place).map(|h| &h.owner).collect();
    owners.sort_by_key(|owner| owner.workload);
    owners.dedup_by_key(|owner| owner.workload);
    let count = u32::try_from(owners.len()).expect("the owners on one device are few");
    owners
        .into_iter()
        .map(|owner| Row {
            owner: owner.clone(),
            place,
            sharing: if count == 1 { one } else { several },
            share: Share::new(1, count).of(whole),
            weight: whole,
            quality: if count == 1 { alone } else { Quality::Estimated },
        })
        .collect()
}

#[cfg(test)]
mod tests;
