//! What goes wrong, compiled: faults by call, losses by GPU, driver loads, and what the driver reports as events.

use super::{Clock, GpuModel};
use crate::names;
use crate::scenario::{Event, Scenario};

/// A fault of one call during `[from_us, to_us)`.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Only for this GPU.
    pub gpu: Option<usize>,
    /// First instant.
    pub from_us: i64,
    /// First instant after it.
    pub to_us: i64,
    /// What it does.
    pub kind: FaultKind,
}

/// What a fault does to a call.
#[derive(Clone, Copy, Debug)]
pub enum FaultKind {
    /// It answers with this code.
    Error(u32),
    /// It takes this much longer, in µs of real time.
    Delay(u64),
    /// It doesn't return before the interval is over or this much real time, in ms.
    Hang(Option<u64>),
}

/// Something that the driver reports as an event.
#[derive(Clone, Copy, Debug)]
pub struct Happening {
    /// When.
    pub at_us: i64,
    /// To which GPU.
    pub gpu: usize,
    /// What.
    pub kind: HappeningKind,
}

/// What an event reports.
#[derive(Clone, Copy, Debug)]
pub enum HappeningKind {
    /// An XID, with the GPU instance that it names.
    Xid(u64, Option<u32>),
    /// The MIG configuration changed.
    MigChange,
}

/// Enters losses into their GPUs and driver loads into their list.
pub(super) fn apply(scenario: &Scenario, clock: &Clock, gpus: &mut [GpuModel], loads_us: &mut Vec<i64>) {
    for event in &scenario.events {
        match event {
            Event::GpuLost { gpu, from, to } => gpus[*gpu].lost_us.push((clock.at(*from), clock.end(*to))),
            Event::DriverReload { t } => loads_us.push(clock.at(*t)),
            _ => {}
        }
    }
    loads_us.sort_unstable();
    for gpu in gpus {
        gpu.lost_us.sort_unstable();
    }
}

/// The faults of every function, by its index.
pub(super) fn by_function(scenario: &Scenario, clock: &Clock) -> Vec<Vec<Fault>> {
    let mut faults = vec![Vec::new(); names::COUNT];
    for event in &scenario.events {
        let (gpu, function, from, to, kind) = match event {
            Event::CallError { gpu, function, from, to, code } => {
                (gpu, function, from, to, FaultKind::Error(*code))
            }
            Event::Delay { gpu, function, from, to, micros } => {
                (gpu, function, from, to, FaultKind::Delay(*micros))
            }
            Event::Hang { gpu, function, from, to, real_ms } => {
                (gpu, function, from, to, FaultKind::Hang(*real_ms))
            }
            Event::Xid { .. } | Event::GpuLost { .. } | Event::DriverReload { .. } => continue,
        };
        let fault = Fault { gpu: *gpu, from_us: clock.at(*from), to_us: clock.end(*to), kind };
        match names::index_of(function) {
            Some(index) => faults[index].push(fault),
            None => faults.iter_mut().for_each(|of_function| of_function.push(fault.clone())),
        }
    }
    faults
}

/// What the driver reports, in order of time.
pub(super) fn happenings(scenario: &Scenario, clock: &Clock, gpus: &[GpuModel]) -> Vec<Happening> {
    let mut all: Vec<Happening> = Vec::new();
    for event in &scenario.events {
        if let Event::Xid { gpu, t, code, gi } = event {
            all.push(Happening { at_us: clock.at(*t), gpu: *gpu, kind: HappeningKind::Xid(*code, *gi) });
        }
    }
    for gpu in gpus {
        let mut edges: Vec<i64> =
            gpu.layouts.iter().flat_map(|layout| [layout.from_us, layout.to_us]).collect();
        edges.retain(|at_us| *at_us != i64::MAX);
        edges.dedup();
        all.extend(edges.into_iter().map(|at_us| Happening {
            at_us,
            gpu: gpu.index,
            kind: HappeningKind::MigChange,
        }));
    }
    all.sort_by_key(|happening| happening.at_us);
    all
}
