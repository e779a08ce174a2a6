//! A scenario: everything that is true of one node over time, in one TOML file.
//!
//! It is the only input of the simulated library and the source of the ground truth, so that what a collector measured
//! can be compared with what was. Files are refused with the key and the remedy named; they can be built in code as well
//! ([`Scenario::new`]) and written back with [`Scenario::to_toml`].

mod check;
mod event;
mod gpu;
mod process;
mod value;

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use check::ScenarioError;
pub use event::Event;
pub use gpu::{ComputeInstance, Gpu, GpuInstance, MigLayout, Mode, MpsUtilization, Vm};
pub use process::Process;
pub use value::{Seconds, Series, Wave};

/// What a utilisation sample says: NVIDIA's documents leave it open, so both exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessUtilization {
    /// The mean over all sample periods newer than the caller's last-seen timestamp.
    #[default]
    MeanSinceLastSeen,
    /// The value of the latest sample period in which it was not zero.
    LastPeriod,
}

/// What energy and power calls answer on a MIG device's handle: reports from the field disagree, so both exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigHandlePower {
    /// NOT_SUPPORTED.
    #[default]
    NotSupported,
    /// The value of the whole GPU.
    Parent,
}

/// One node over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The node's name; UUIDs that are not given derive from it.
    pub node: String,
    /// Instant of t = 0 (RFC 3339). Where it is not given, a live library takes the wall clock's instant of t = 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<DateTime<Utc>>,
    /// Driver's version.
    #[serde(default = "driver_version")]
    pub driver_version: String,
    /// CUDA version of the driver, `major.minor`.
    #[serde(default = "cuda_version")]
    pub cuda_version: String,
    /// `/proc/sys/kernel/random/boot_id`; derived from the node's name and the boot where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// When the node booted and its driver was loaded; a day before the start by default.
    #[serde(default = "boot")]
    pub boot: Seconds,
    /// Seed of the rounding of fractional percents.
    #[serde(default)]
    pub seed: u64,
    /// What a utilisation sample says.
    #[serde(default)]
    pub process_utilization: ProcessUtilization,
    /// Length of a utilisation sample period, in milliseconds; real ones are between 167 and 1000.
    #[serde(default = "sample_period_ms")]
    pub sample_period_ms: u32,
    /// How far back the driver's buffer of utilisation samples reaches.
    #[serde(default = "sample_buffer_s")]
    pub sample_buffer_s: Seconds,
    /// What energy and power calls answer on a MIG device's handle.
    #[serde(default)]
    pub mig_handle_power: MigHandlePower,
    /// The ABI of drivers 535.43 to 535.86: process structs of 32 bytes behind the v3 names.
    #[serde(default)]
    pub proc_struct_535: bool,
    /// GPUs, in index order.
    #[serde(default)]
    pub gpus: Vec<Gpu>,
    /// Processes.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// What happens besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

impl Scenario {
    /// A node of this name without GPUs, with every default; fill its fields.
    pub fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            start: None,
            driver_version: driver_version(),
            cuda_version: cuda_version(),
            boot_id: None,
            boot: boot(),
            seed: 0,
            process_utilization: ProcessUtilization::default(),
            sample_period_ms: sample_period_ms(),
            sample_buffer_s: sample_buffer_s(),
            mig_handle_power: MigHandlePower::default(),
            proc_struct_535: false,
            gpus: Vec::new(),
            processes: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Starting at this instant, given in unix microseconds.
    ///
    /// # Panics
    /// Beyond the year 262,000.
    pub fn starting_at_us(mut self, unix_us: i64) -> Self {
        self.start =
            Some(DateTime::from_timestamp_micros(unix_us).expect("an instant that a calendar can hold"));
        self
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file can't be read, isn't TOML, has an unknown key, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        Self::parse_named(&text, &path.display().to_string())
    }

    /// Parses and checks a text.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Self::parse_named(text, "scenario")
    }

    fn parse_named(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text)
            .map_err(|source| ScenarioError::Parse { file: file.to_owned(), source: Box::new(source) })?;
        scenario.check_named(file)?;
        Ok(scenario)
    }

    /// Checks that it doesn't contradict itself.
    ///
    /// # Errors
    /// The first key found wrong, with what would be right.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_named("scenario")
    }

    /// The scenario as TOML, which parses back to the same.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario's fields all have a TOML form")
    }

    /// Start in unix microseconds, where it is given.
    pub fn start_us(&self) -> Option<i64> {
        self.start.map(|start| start.timestamp_micros())
    }
}

fn driver_version() -> String {
    "590.48.01".to_owned()
}

fn cuda_version() -> String {
    "13.1".to_owned()
}

fn boot() -> Seconds {
    Seconds::new(-86_400)
}

fn sample_period_ms() -> u32 {
    1000
}

fn sample_buffer_s() -> Seconds {
    Seconds::new(100)
}
