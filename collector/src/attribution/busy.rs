//! Busy time: the device's or the instance's own figure, divided among those who were there.

use super::{Place, Row, Shape};
use crate::reading::Field;
use schema::share::split_largest_remainder;
use schema::wire::Reason;

/// Activity of a GPU instance during the stretch.
#[derive(Debug, Clone)]
pub struct InstanceBusy {
    /// GPU instance id.
    pub gpu_instance: u32,
    /// Busy nanoseconds of the whole GPU instance.
    pub busy_ns: Field<u64>,
    /// Busy nanoseconds of its compute instances by id, where they are measured apart.
    pub own_ns: Vec<(u32, u64)>,
}

/// What is known of busy time during the stretch.
#[derive(Debug, Clone)]
pub enum BusyInput {
    /// Nanoseconds for which the device was busy.
    Device(Field<u64>),
    /// The same for each GPU instance.
    Instances(Vec<InstanceBusy>),
}

/// A row's busy time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBusy {
    /// Nanoseconds on the row's place.
    pub busy_ns: Field<u64>,
    /// It was divided by a rule rather than measured.
    pub estimated: bool,
}

/// The whole answer.
#[derive(Debug, Clone, Default)]
pub struct Busy {
    /// By row.
    pub rows: Vec<RowBusy>,
    /// Busy with nobody there: the place and nanoseconds; under MIG a GPU instance with its slices.
    pub ghosts: Vec<(Place, u64, u32)>,
    /// Slices (1 outside MIG) that nobody holds and whose use isn't known.
    pub free_unknown_slices: u32,
}

/// Divides busy time among rows. `weights` are, by row, what per-process samples (or, under MIG, memory) say; where
/// they say nothing, the shares held do. `len_ms` bounds what a place can be busy.
pub fn attribute_busy(shape: &Shape, rows: &[Row], weights: &[u64], input: &BusyInput, len_ms: u64) -> Busy {
    match input {
        BusyInput::Device(total) => device(rows, weights, *total),
        BusyInput::Instances(instances) => by_instance(shape, rows, weights, instances, len_ms),
    }
}

/// Process samples that explain less than this part of the device's own figure leave the division an estimate.
const EXPLAINED_PERCENT: u64 = 90;

fn device(rows: &[Row], weights: &[u64], total: Field<u64>) -> Busy {
    let mut busy = Busy::default();
    match total {
        Err(reason) => {
            busy.rows = rows.iter().map(|_| RowBusy { busy_ns: Err(reason), estimated: false }).collect();
            busy.free_unknown_slices = u32::from(rows.is_empty());
        }
        Ok(total) if rows.is_empty() => busy.ghosts.push((Place::DEVICE, total, 1)),
        Ok(total) => {
            let explained: u64 = weights.iter().sum();
            let estimated = rows.len() > 1 && explained * 100 < total * EXPLAINED_PERCENT;
            let all: Vec<&Row> = rows.iter().collect();
            busy.rows =
                split(total, weights, &all).map(|ns| RowBusy { busy_ns: Ok(ns), estimated }).collect();
        }
    }
    busy.ghosts.retain(|(_, ns, _)| *ns > 0);
    busy
}

/// In proportion to the weights; where they say nothing, to the shares that are held.
fn split(total: u64, weights: &[u64], rows: &[&Row]) -> impl Iterator<Item = u64> {
    const PARTS: u64 = 1_000_000;
    let shares = || rows.iter().map(|row| PARTS * u64::from(row.share.num) / u64::from(row.share.den));
    let parts = if weights.iter().all(|w| *w == 0) {
        split_largest_remainder(total, &shares().collect::<Vec<_>>())
    } else {
        split_largest_remainder(total, weights)
    };
    parts.into_iter()
}

fn by_instance(shape: &Shape, rows: &[Row], weights: &[u64], measured: &[InstanceBusy], len_ms: u64) -> Busy {
    let mut busy = Busy {
        rows: vec![RowBusy { busy_ns: Err(Reason::NotSupported), estimated: false }; rows.len()],
        ..Busy::default()
    };
    let all = shape.instances.as_deref().unwrap_or_default();
    for gi in measured {
        let in_gi: Vec<_> = all.iter().filter(|(i, _)| i.gpu_instance == gi.gpu_instance).collect();
        let held = |ci: u32| rows.iter().any(|row| row.place == Place::instance(gi.gpu_instance, ci));
        let total = match gi.busy_ns {
            Ok(total) => total,
            Err(reason) => {
                for (row, out) in rows.iter().zip(&mut busy.rows) {
                    if row.place.gpu_instance == Some(gi.gpu_instance) {
                        out.busy_ns = Err(reason);
                    }
                }
                busy.free_unknown_slices += in_gi
                    .iter()
                    .filter(|(i, _)| !held(i.compute_instance))
                    .map(|(i, _)| i.slices)
                    .sum::<u32>();
                continue;
            }
        };
        let occupied: Vec<_> = in_gi.iter().filter(|(i, _)| held(i.compute_instance)).collect();
        let gi_slices = in_gi.first().map_or(1, |(_, slices)| *slices);
        if occupied.is_empty() {
            let place = Place { gpu_instance: Some(gi.gpu_instance), compute_instance: None };
            busy.ghosts.push((place, total, gi_slices));
            continue;
        }
        let occupied_slices: u32 = occupied.iter().map(|(i, _)| i.slices).sum();
        for (instance, _) in &occupied {
            let ci = instance.compute_instance;
            let own = gi.own_ns.iter().find(|(id, _)| *id == ci).map(|(_, ns)| *ns);
            // The GPU instance's slice-time, spread over the compute instances that somebody is in.
            let spread = u128::from(total) * u128::from(gi_slices) / u128::from(occupied_slices.max(1));
            let spread = u64::try_from(spread).unwrap_or(u64::MAX).min(len_ms * 1_000_000);
            let place = Place::instance(gi.gpu_instance, ci);
            let members: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].place == place).collect();
            let estimated = members.len() > 1 || (own.is_none() && occupied.len() > 1);
            let member_weights: Vec<u64> = members.iter().map(|at| weights[*at]).collect();
            let member_rows: Vec<&Row> = members.iter().map(|at| &rows[*at]).collect();
            let parts = split(own.unwrap_or(spread), &member_weights, &member_rows);
            for (at, ns) in members.into_iter().zip(parts) {
                busy.rows[at] = RowBusy { busy_ns: Ok(ns), estimated };
            }
        }
    }
    busy.ghosts.retain(|(_, ns, _)| *ns > 0);
    busy
}
