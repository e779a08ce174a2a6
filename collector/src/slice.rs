//! A slice: a stretch of one device's time in which nothing changed who held what. It gathers exact integers and is
//! turned into whole milliseconds and millijoules once, when it closes; what is left over is carried to the next.

use crate::attribution::{self, EnergyInput, Place, Row, Shape};
use crate::reading::{Field, Identity};
use schema::share::{Share, split_largest_remainder};
use schema::wire::{BusyKind, DeviceWindow, HostMemory, Quality, Reason, Sharing, UsageSlice};
use std::sync::Arc;

/// What the device was to us during a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It answered.
    Observed,
    /// It didn't answer, or nobody asked.
    Unobserved(Reason),
    /// It is known to have been out of use.
    Unavailable(Reason),
}

/// A row's sums.
#[derive(Debug, Clone)]
pub struct RowSum {
    /// Whose, where, how much.
    pub row: Row,
    /// Busy nanoseconds on the row's place.
    pub busy_ns: Field<u64>,
    /// Part of it was divided by a rule.
    pub estimated: bool,
    /// Byte-milliseconds; `None` where not known.
    pub memory_byte_ms: Option<u128>,
}

/// Sums of a stretch of time.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Start, Unix milliseconds.
    pub start_ms: i64,
    /// End, Unix milliseconds.
    pub end_ms: i64,
    /// Whether it was observed.
    pub state: State,
    /// How the device is cut.
    pub shape: Arc<Shape>,
    /// Rows by place and workload.
    pub rows: Vec<RowSum>,
    /// Busy with nobody there: place, nanoseconds, slices of the place.
    pub ghosts: Vec<(Place, u64, u32)>,
    /// Slices that nobody holds and whose use isn't known.
    pub free_unknown_slices: u32,
    /// Device busy nanoseconds outside MIG; `None` where not known or under MIG.
    pub device_busy_ns: Option<u64>,
    /// What busy means.
    pub busy_kind: BusyKind,
    /// Busy time comes from a DCGM exporter.
    pub by_dcgm: bool,
    /// Growth of the energy counter; `None` where it has none.
    pub energy_mj: Option<u64>,
    /// The counter was reset.
    pub energy_reset: bool,
    /// Device memory used, byte-milliseconds.
    pub memory_byte_ms: Option<u128>,
    /// Shares were scaled to the device.
    pub oversubscribed: bool,
}

impl Slice {
    /// Whether a stretch that follows is the same in everything but its sums.
    pub fn continues_as(&self, next: &Slice) -> bool {
        let same_row = |(a, b): (&RowSum, &RowSum)| {
            a.row == b.row && a.busy_ns.is_ok() == b.busy_ns.is_ok() && a.busy_ns.err() == b.busy_ns.err()
        };
        self.end_ms == next.start_ms
            && self.state == next.state
            && (Arc::ptr_eq(&self.shape, &next.shape) || self.shape == next.shape)
            && self.rows.len() == next.rows.len()
            && self.rows.iter().zip(&next.rows).all(same_row)
            && self.device_busy_ns.is_some() == next.device_busy_ns.is_some()
            && self.free_unknown_slices == next.free_unknown_slices
            && self.busy_kind == next.busy_kind
            && self.by_dcgm == next.by_dcgm
    }

    /// Adds the stretch that follows.
    pub fn add(&mut self, next: Slice) {
        self.end_ms = next.end_ms;
        for (sum, more) in self.rows.iter_mut().zip(next.rows) {
            sum.busy_ns = sum.busy_ns.and_then(|ns| more.busy_ns.map(|m| ns + m));
            sum.estimated |= more.estimated;
            sum.memory_byte_ms = sum.memory_byte_ms.zip(more.memory_byte_ms).map(|(a, b)| a + b);
        }
        for (place, ns, slices) in next.ghosts {
            match self.ghosts.iter_mut().find(|(known, _, _)| *known == place) {
                Some(ghost) => ghost.1 += ns,
                None => self.ghosts.push((place, ns, slices)),
            }
        }
        self.device_busy_ns = self.device_busy_ns.zip(next.device_busy_ns).map(|(a, b)| a + b);
        self.energy_mj = self.energy_mj.zip(next.energy_mj).map(|(a, b)| a + b);
        self.energy_reset |= next.energy_reset;
        self.memory_byte_ms = self.memory_byte_ms.zip(next.memory_byte_ms).map(|(a, b)| a + b);
        self.oversubscribed |= next.oversubscribed;
    }
}

/// A slice as it travels, its references still by value.
#[derive(Debug, Clone)]
pub struct Closed {
    /// Which device.
    pub device: Arc<Identity>,
    /// The device's row; `device` isn't set yet.
    pub window: DeviceWindow,
    /// Usage with its owner and profile; `device`, `owner` and `profile` aren't set yet.
    pub usage: Vec<(UsageSlice, Option<Arc<crate::owner::OwnerRecord>>, Option<String>)>,
    /// Whether the time was unobserved, and why.
    pub gap: Option<Reason>,
    /// Host memory of workloads, which travels with this slice; `owner` isn't set yet.
    pub host_memory: Vec<(HostMemory, Arc<crate::owner::OwnerRecord>)>,
}

/// Nanoseconds that didn't fill a millisecond yet, by place.
#[derive(Debug, Default, Clone)]
pub struct Carry(Vec<(Place, u64)>);

const NS_PER_MS: u64 = 1_000_000;

impl Carry {
    /// Whole milliseconds of what was carried and `ns`, no more than `len_ms`; the rest is carried.
    fn whole_ms(&mut self, place: Place, ns: u64, len_ms: u64) -> u64 {
        let at = self.0.iter().position(|(known, _)| *known == place).unwrap_or_else(|| {
            self.0.push((place, 0));
            self.0.len() - 1
        });
        let total = self.0[at].1 + ns;
        let ms = (total / NS_PER_MS).min(len_ms);
        self.0[at].1 = (total - ms * NS_PER_MS).min(NS_PER_MS - 1);
        ms
    }

    /// Forgets places that went away with their MIG layout.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Turns a slice into rows of whole milliseconds and millijoules whose parts sum to the device's own.
pub fn close(slice: &Slice, device: &Arc<Identity>, idle_mw: Option<u64>, carry: &mut Carry) -> Closed {
    let len_ms = u64::try_from(slice.end_ms - slice.start_ms).expect("a slice's end isn't before its start");
    let rows = &slice.rows;
    let mut busy_ms: Vec<Option<u64>> = vec![None; rows.len()];
    let mut ghost_ms: Vec<u64> = vec![0; slice.ghosts.len()];
    let mut device_busy_ms = None;
    // Every place's milliseconds are made once, then cut into its rows' parts.
    let mut places: Vec<Place> =
        rows.iter().map(|r| r.row.place).chain(slice.ghosts.iter().map(|g| g.0)).collect();
    if slice.device_busy_ns.is_some() {
        places.push(Place::DEVICE);
    }
    places.sort_unstable();
    places.dedup();
    for place in places {
        let members: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].row.place == place).collect();
        let ghosts: Vec<usize> = (0..slice.ghosts.len()).filter(|at| slice.ghosts[*at].0 == place).collect();
        let Ok(mut parts) = members.iter().map(|at| rows[*at].busy_ns).collect::<Result<Vec<u64>, Reason>>()
        else {
            continue;
        };
        parts.extend(ghosts.iter().map(|at| slice.ghosts[*at].1));
        let whole = carry.whole_ms(place, parts.iter().sum(), len_ms);
        if place == Place::DEVICE && slice.device_busy_ns.is_some() {
            device_busy_ms = Some(whole);
        }
        let weights = if parts.iter().all(|ns| *ns == 0) { vec![1; parts.len()] } else { parts };
        let mut split = split_largest_remainder(whole, &weights).into_iter();
        members.iter().for_each(|at| busy_ms[*at] = split.next());
        ghosts.iter().for_each(|at| ghost_ms[*at] = split.next().unwrap_or(0));
    }
    let energy = energy(slice, len_ms, idle_mw);
    let memory = memory(slice);
    let profile_of = |place: Place| {
        let all = slice.shape.instances.as_deref()?;
        let found = all.iter().find(|(i, _)| {
            Some(i.gpu_instance) == place.gpu_instance
                && place.compute_instance.is_none_or(|ci| ci == i.compute_instance)
        });
        found.map(|(i, _)| i.profile.clone())
    };
    let base = UsageSlice {
        start_ms: slice.start_ms,
        end_ms: slice.end_ms,
        share_den: 1,
        weight_den: 1,
        ..UsageSlice::default()
    };
    let mut usage = Vec::with_capacity(rows.len() + slice.ghosts.len());
    for (at, sum) in rows.iter().enumerate() {
        let row = &sum.row;
        let busy = busy_ms[at];
        // Where busy isn't known, the weight turns held time into the device time that is unknown.
        let weight = if busy.is_some() { row.weight } else { row.share };
        let busy_quality = match (busy, sum.estimated) {
            (None, _) => Quality::Unspecified,
            (Some(_), true) => Quality::Estimated,
            (Some(_), false) if slice.by_dcgm => Quality::MeasuredByDcgm,
            (Some(_), false) => Quality::Measured,
        };
        let slice_row = UsageSlice {
            gpu_instance: row.place.gpu_instance,
            compute_instance: row.place.compute_instance,
            sharing: row.sharing as i32,
            share_num: row.share.num,
            share_den: row.share.den,
            resident_ms: Some(len_ms),
            busy_ms: busy,
            busy_kind: if busy.is_some() { slice.busy_kind as i32 } else { BusyKind::Unspecified as i32 },
            weight_num: weight.num,
            weight_den: weight.den,
            memory_byte_ms: memory[at],
            energy_mj: energy.as_ref().map(|parts| parts[at]),
            held_quality: row.quality as i32,
            busy_quality: busy_quality as i32,
            unknown_reason: sum.busy_ns.err().unwrap_or(Reason::Unspecified) as i32,
            ..base
        };
        usage.push((slice_row, Some(row.owner.clone()), profile_of(row.place)));
    }
    for ((place, _, slices), ms) in slice.ghosts.iter().zip(ghost_ms).filter(|(_, ms)| *ms > 0) {
        let weight = Share::new(*slices, slice.shape.slices);
        let ghost = UsageSlice {
            gpu_instance: place.gpu_instance,
            compute_instance: place.compute_instance,
            sharing: if place.gpu_instance.is_some() { Sharing::Mig as i32 } else { Sharing::Whole as i32 },
            resident_ms: Some(0),
            busy_ms: Some(ms),
            busy_kind: slice.busy_kind as i32,
            weight_num: weight.num,
            weight_den: weight.den,
            busy_quality: if slice.by_dcgm { Quality::MeasuredByDcgm } else { Quality::Measured } as i32,
            ..base
        };
        usage.push((ghost, None, profile_of(*place)));
    }
    Closed {
        device: device.clone(),
        window: window(slice, len_ms, device_busy_ms),
        usage,
        gap: gap(slice.state),
        host_memory: Vec::new(),
    }
}

fn gap(state: State) -> Option<Reason> {
    match state {
        State::Unobserved(reason) => Some(reason),
        State::Observed | State::Unavailable(_) => None,
    }
}

fn window(slice: &Slice, len_ms: u64, busy_ms: Option<u64>) -> DeviceWindow {
    let stranded = slice.shape.stranded();
    let (observed_ms, unavailable_ms, reason) = match slice.state {
        State::Observed => (len_ms, 0, Reason::Unspecified),
        State::Unobserved(reason) => (0, 0, reason),
        State::Unavailable(reason) => (0, len_ms, reason),
    };
    let free_unknown = len_ms * u64::from(slice.free_unknown_slices) / u64::from(slice.shape.slices.max(1));
    DeviceWindow {
        device: 0,
        start_ms: slice.start_ms,
        end_ms: slice.end_ms,
        observed_ms,
        unavailable_ms,
        reason: reason as i32,
        mig: slice.shape.instances.is_some(),
        instances: slice.shape.instances.iter().flatten().map(|(instance, _)| instance.clone()).collect(),
        stranded_num: stranded.num,
        stranded_den: stranded.den,
        busy_ms,
        busy_kind: if busy_ms.is_some() { slice.busy_kind as i32 } else { BusyKind::Unspecified as i32 },
        energy_mj: slice.energy_mj,
        energy_reset: slice.energy_reset,
        memory_byte_ms: slice.memory_byte_ms.map(whole_bytes),
        oversubscribed: slice.oversubscribed,
        free_unknown_ms: if slice.state == State::Observed { free_unknown } else { 0 },
        xids: Vec::new(),
    }
}

fn whole_bytes(byte_ms: u128) -> u64 {
    u64::try_from(byte_ms).unwrap_or(u64::MAX)
}

/// Rows' memory, scaled down where processes' own figures exceed the device's.
fn memory(slice: &Slice) -> Vec<Option<u64>> {
    let own: Vec<Option<u64>> = slice.rows.iter().map(|row| row.memory_byte_ms.map(whole_bytes)).collect();
    let known: Vec<u64> = own.iter().map(|m| m.unwrap_or(0)).collect();
    let total: u128 = known.iter().map(|m| u128::from(*m)).sum();
    match slice.memory_byte_ms {
        Some(device) if total > device => {
            let scaled = split_largest_remainder(whole_bytes(device), &known);
            own.iter().zip(scaled).map(|(own, scaled)| own.map(|_| scaled)).collect()
        }
        _ => own,
    }
}

fn energy(slice: &Slice, len_ms: u64, idle_mw: Option<u64>) -> Option<Vec<u64>> {
    let total_mj = slice.energy_mj?;
    if slice.state != State::Observed {
        return Some(vec![0; slice.rows.len()]);
    }
    let scaled = |ns: u64, weight: Share| ns * u64::from(weight.num) / u64::from(weight.den);
    let busy: Result<Vec<u64>, Reason> =
        slice.rows.iter().map(|row| row.busy_ns.map(|ns| scaled(ns, row.row.weight))).collect();
    let alone = |place: Place| slice.rows.iter().filter(|row| row.row.place == place).count() == 1;
    let held: Vec<(Share, bool)> =
        slice.rows.iter().map(|row| (row.row.share, alone(row.row.place))).collect();
    let ghost =
        slice.ghosts.iter().map(|(_, ns, slices)| scaled(*ns, Share::new(*slices, slice.shape.slices))).sum();
    let idle_mj = idle_mw.map_or(0, |mw| mw * len_ms / 1000);
    let busy = busy.ok();
    Some(attribution::attribute_energy(&EnergyInput {
        total_mj,
        idle_mj,
        held: &held,
        busy: busy.as_deref(),
        ghost,
    }))
}
