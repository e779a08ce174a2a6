//! A scenario compiled for answering: instants are unix microseconds, series are integer steps with exact integrals,
//! and what each process gets of its engine is worked out once.
//!
//! Busy is in parts per billion ([`FULL`] is 100 %), memory in bytes, power in mW. The library's answers and the ground
//! truth are both read from here, so they agree to the unit.

mod faults;
mod gpu;
mod hosts;
mod ids;
mod layout;
mod share;
mod usage;

pub use faults::{Fault, FaultKind, Happening, HappeningKind};
pub use gpu::{GpuModel, ProcessModel, VmModel};
pub use hosts::{HostProcess, Hosts};
pub use ids::hash;
pub use layout::{InstanceModel, LayoutModel, MigDeviceModel};
pub use share::FULL;
pub use usage::MemoryNow;

use crate::scenario::{Scenario, Seconds, Series};
use crate::series::Steps;

/// One MiB in bytes.
pub const MIB: u64 = 1024 * 1024;

/// How long a square wave without an end lasts.
pub(crate) const ENDLESS_WAVE_US: i64 = 40 * 86_400 * 1_000_000;

/// A compiled scenario.
#[derive(Debug)]
pub struct Model {
    /// What it was compiled from.
    pub scenario: Scenario,
    /// Instant of t = 0.
    pub start_us: i64,
    /// When the node booted.
    pub boot_us: i64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Length of a utilisation sample period.
    pub period_us: i64,
    /// GPUs, in index order.
    pub gpus: Vec<GpuModel>,
    /// Processes as `/proc` shows them.
    pub hosts: Hosts,
    /// Driver loads, in order; the boot is the first.
    pub loads_us: Vec<i64>,
    /// Faults of calls, by function index ([`crate::names`]); those of every call are under each.
    pub faults: Vec<Vec<Fault>>,
    /// XIDs and MIG changes, in order.
    pub happenings: Vec<Happening>,
}

impl Model {
    /// Compiles a scenario that [`Scenario::check`] accepted, with this instant as t = 0.
    pub fn new(scenario: &Scenario, start_us: i64) -> Self {
        let clock = Clock { start_us };
        let boot_us = clock.at(scenario.boot);
        let boot_id = scenario
            .boot_id
            .clone()
            .unwrap_or_else(|| ids::uuid(&["boot", &scenario.node, &boot_us.to_string()]));
        let mut gpus: Vec<GpuModel> =
            (0..scenario.gpus.len()).map(|index| GpuModel::new(scenario, index, &clock)).collect();
        let mut loads_us = vec![boot_us];
        faults::apply(scenario, &clock, &mut gpus, &mut loads_us);
        Self {
            start_us,
            boot_us,
            boot_id,
            period_us: i64::from(scenario.sample_period_ms) * 1000,
            hosts: Hosts::new(scenario, &clock),
            faults: faults::by_function(scenario, &clock),
            happenings: faults::happenings(scenario, &clock, &gpus),
            gpus,
            loads_us,
            scenario: scenario.clone(),
        }
    }

    /// How many times the driver was loaded up to an instant, the boot included.
    pub fn loads_before(&self, at_us: i64) -> usize {
        self.loads_us.partition_point(|load| *load <= at_us)
    }

    /// When the driver that runs at an instant was loaded.
    pub fn loaded_us(&self, at_us: i64) -> i64 {
        self.loads_us[self.loads_before(at_us).saturating_sub(1)]
    }

    /// What a GPU's energy counter shows at an instant, in mJ.
    pub fn energy_counter_mj(&self, gpu: usize, at_us: i64) -> u64 {
        self.gpus[gpu].energy_mj(self.loaded_us(at_us), at_us)
    }
}

/// Turns a scenario's instants and series into integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub start_us: i64,
}

impl Clock {
    pub fn at(self, seconds: Seconds) -> i64 {
        self.start_us.saturating_add(seconds.micros())
    }

    /// The end of an interval; without one, the end of time.
    pub fn end(self, seconds: Option<Seconds>) -> i64 {
        seconds.map_or(i64::MAX, |seconds| self.at(seconds))
    }

    /// A series during `[from_us, to_us)`, each value times `unit`.
    pub fn steps(self, series: &Series, unit: f64, from_us: i64, to_us: i64) -> Steps {
        let integer = |value: f64| (value * unit).round() as u64;
        let mut points: Vec<(i64, u64)> = Vec::new();
        match series {
            Series::Constant(value) => points.push((from_us, integer(*value))),
            Series::Steps(steps) => {
                for (at, value) in steps {
                    let at_us = self.at(*at);
                    if at_us <= from_us {
                        points.clear();
                    }
                    if at_us < to_us {
                        points.push((at_us.max(from_us), integer(*value)));
                    }
                }
            }
            Series::Wave(wave) => {
                let last_us = to_us.min(from_us.saturating_add(ENDLESS_WAVE_US));
                let mut at_us = from_us;
                while at_us < last_us {
                    points.push((at_us, integer(wave.percent)));
                    let off_us = at_us + wave.on_s.micros();
                    if off_us < last_us && wave.on_s < wave.period_s {
                        points.push((off_us, 0));
                    }
                    at_us += wave.period_s.micros();
                }
                points.push((last_us, 0));
            }
        }
        if to_us < i64::MAX {
            points.push((to_us, 0));
        }
        Steps::new(points)
    }

    /// A busy series, from percent.
    pub fn busy(self, series: &Series, from_us: i64, to_us: i64) -> Steps {
        self.steps(series, FULL as f64 / 100.0, from_us, to_us)
    }

    /// A memory series, from MiB.
    pub fn memory(self, series: &Series, from_us: i64, to_us: i64) -> Steps {
        self.steps(series, MIB as f64, from_us, to_us)
    }
}
