//! What a scenario must not contradict. Each message names the file, the key and the remedy.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Event, Gpu, MigLayout, Mode, Process, Scenario, Seconds, Series};
use crate::model::ENDLESS_WAVE_US;
use crate::names;
use crate::presets::{self, Preset};

/// Why a scenario was refused.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file can't be read.
    #[error("{path}: could not read the scenario", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, or a value of the wrong kind.
    #[error("{file}: {source}")]
    Parse {
        /// The file.
        file: String,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// It contradicts itself.
    #[error("{file}: {key}: {problem}; {remedy}")]
    Wrong {
        /// The file.
        file: String,
        /// The key, such as `processes[3].gi`.
        key: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        remedy: String,
    },
}

/// A key, what is wrong with it, and what would be right.
type Wrong = (String, String, String);

fn wrong<T>(
    key: impl Into<String>,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, Wrong> {
    Err((key.into(), problem.into(), remedy.into()))
}

impl Scenario {
    pub(super) fn check_named(&self, file: &str) -> Result<(), ScenarioError> {
        self.check_all().map_err(|(key, problem, remedy)| ScenarioError::Wrong {
            file: file.to_owned(),
            key,
            problem,
            remedy,
        })
    }

    fn check_all(&self) -> Result<(), Wrong> {
        if self.node.is_empty() {
            return wrong("node", "is empty", "give the node a name");
        }
        if !(10..=10_000).contains(&self.sample_period_ms) {
            return wrong("sample_period_ms", "is not between 10 and 10000", "real drivers use 167 to 1000");
        }
        if self.sample_buffer_s.micros() < i64::from(self.sample_period_ms) * 1000 {
            return wrong("sample_buffer_s", "is shorter than a sample period", "100 is usual");
        }
        if self.boot.micros() % 1_000_000 != 0 {
            return wrong("boot", "is not a whole second", "`/proc/stat` can hold whole seconds only");
        }
        if self.gpus.len() > 64 {
            return wrong("gpus", "are more than 64", "use several nodes");
        }
        for (index, gpu) in self.gpus.iter().enumerate() {
            check_gpu(gpu, &format!("gpus[{index}]"))?;
        }
        for (index, process) in self.processes.iter().enumerate() {
            self.check_process(process, &format!("processes[{index}]"))?;
        }
        for (index, event) in self.events.iter().enumerate() {
            self.check_event(event, &format!("events[{index}]"))?;
        }
        Ok(())
    }

    fn check_process(&self, process: &Process, key: &str) -> Result<(), Wrong> {
        check_interval(process.start, process.end, key)?;
        check_series(&process.busy, 100.0, &format!("{key}.busy"))?;
        check_wave(&process.busy, process.start, process.end, &format!("{key}.busy"))?;
        check_wave(&process.memory_mib, process.start, process.end, &format!("{key}.memory_mib"))?;
        check_series(&process.memory_mib, 1e9, &format!("{key}.memory_mib"))?;
        if process.start < self.boot {
            return wrong(format!("{key}.start"), "is before the node's boot", "set `boot` earlier");
        }
        let Some(index) = process.gpu else { return Ok(()) };
        let end = process.end.unwrap_or(Seconds::from_micros(i64::MAX));
        let Some(gpu) = self.gpus.get(index) else {
            let remedy = format!("the node has {} GPUs, counted from 0", self.gpus.len());
            return wrong(format!("{key}.gpu"), format!("{index} does not exist"), remedy);
        };
        if process.mps_client && gpu.mode != Mode::Mps {
            return wrong(
                format!("{key}.mps_client"),
                "its GPU is not shared by MPS",
                "set the GPU's mode to \"mps\"",
            );
        }
        let layout_end = |layout: &MigLayout| layout.to.unwrap_or(Seconds::from_micros(i64::MAX));
        let Some(gi) = process.gi else {
            if process.ci.is_some() {
                return wrong(format!("{key}.ci"), "has no `gi`", "give the GPU instance too");
            }
            let cut = |layout: &MigLayout| layout.from < end && process.start < layout_end(layout);
            if gpu.mig.iter().any(cut) {
                return wrong(
                    format!("{key}.gi"),
                    "is missing while its GPU is cut by MIG",
                    "give the GPU instance",
                );
            }
            return Ok(());
        };
        let ci = process.ci.unwrap_or(0);
        let lives_in = |layout: &MigLayout| layout.from <= process.start && end <= layout_end(layout);
        if gpu.mig.iter().any(|layout| lives_in(layout) && holds(layout, gi, ci)) {
            return Ok(());
        }
        let problem = format!("no one layout has instance {gi}/{ci} for as long as the process lives");
        wrong(
            format!("{key}.gi"),
            problem,
            "end the process before the GPU is cut anew, or use an id that it has",
        )
    }

    fn check_event(&self, event: &Event, key: &str) -> Result<(), Wrong> {
        let (gpu, function, interval) = match event {
            Event::Xid { gpu, .. } => (Some(*gpu), None, None),
            Event::GpuLost { gpu, from, to } => (Some(*gpu), None, Some((*from, *to))),
            Event::DriverReload { .. } => (None, None, None),
            Event::CallError { gpu, function, from, to, .. }
            | Event::Delay { gpu, function, from, to, .. }
            | Event::Hang { gpu, function, from, to, .. } => (*gpu, Some(function), Some((*from, *to))),
        };
        if let Some(gpu) = gpu.filter(|gpu| *gpu >= self.gpus.len()) {
            return wrong(format!("{key}.gpu"), format!("{gpu} does not exist"), "count GPUs from 0");
        }
        if let Some(function) = function.filter(|name| *name != "*" && names::index_of(name).is_none()) {
            let remedy = "write it as NVML exports it (nvmlDeviceGetPowerUsage), or \"*\" for all";
            return wrong(format!("{key}.function"), format!("{function} is no NVML function"), remedy);
        }
        match interval {
            Some((from, to)) => check_interval(from, to, key),
            None => Ok(()),
        }
    }
}

fn holds(layout: &MigLayout, gi: u32, ci: u32) -> bool {
    layout.instances.iter().filter(|instance| instance.gi == gi).any(|instance| {
        if instance.compute.is_empty() {
            ci == 0
        } else {
            instance.compute.iter().any(|compute| compute.ci == ci)
        }
    })
}

fn check_gpu(gpu: &Gpu, key: &str) -> Result<(), Wrong> {
    let Some(preset) = presets::find(&gpu.preset) else {
        let remedy = format!("known presets: {}", presets::names().collect::<Vec<_>>().join(", "));
        return wrong(format!("{key}.preset"), format!("{} is unknown", gpu.preset), remedy);
    };
    if let Some(uuid) = gpu.uuid.as_ref().filter(|uuid| !uuid.starts_with("GPU-") || uuid.len() > 79) {
        return wrong(format!("{key}.uuid"), format!("{uuid} is no GPU UUID"), "write GPU-xxxxxxxx-xxxx-...");
    }
    if let Some(ghost) = &gpu.ghost_busy {
        check_series(ghost, 100.0, &format!("{key}.ghost_busy"))?;
        check_wave(ghost, Seconds::ZERO, None, &format!("{key}.ghost_busy"))?;
    }
    if !gpu.vms.is_empty() && gpu.mode != Mode::Vgpu {
        return wrong(format!("{key}.vms"), "need `mode = \"vgpu\"`", "set the mode");
    }
    for (index, vm) in gpu.vms.iter().enumerate() {
        let key = format!("{key}.vms[{index}]");
        check_interval(vm.start, vm.end, &key)?;
        check_series(&vm.busy, 100.0, &format!("{key}.busy"))?;
        check_wave(&vm.busy, vm.start, vm.end, &format!("{key}.busy"))?;
        check_series(&vm.memory_mib, 1e9, &format!("{key}.memory_mib"))?;
    }
    let mut free_from = Seconds::from_micros(i64::MIN);
    for (index, layout) in gpu.mig.iter().enumerate() {
        let key = format!("{key}.mig[{index}]");
        check_interval(layout.from, layout.to, &key)?;
        if layout.from < free_from {
            return wrong(
                format!("{key}.from"),
                "is before the layout above it ends",
                "order layouts in time",
            );
        }
        free_from = layout.to.unwrap_or(Seconds::from_micros(i64::MAX));
        check_layout(layout, preset, &key)?;
    }
    Ok(())
}

fn check_layout(layout: &MigLayout, preset: &Preset, key: &str) -> Result<(), Wrong> {
    if preset.profiles.is_empty() {
        return wrong(key, format!("{} has no MIG", preset.key), "remove the layout");
    }
    let (mut compute, mut memory, mut ids, mut slots) = (0, 0, HashSet::new(), HashSet::new());
    for (index, instance) in layout.instances.iter().enumerate() {
        let key = format!("{key}.instances[{index}]");
        let Some(profile) = preset.profile(&instance.profile) else {
            let known = preset.profiles.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
            let problem = format!("{} is unknown", instance.profile);
            return wrong(format!("{key}.profile"), problem, format!("{} has {known}", preset.key));
        };
        compute += profile.compute_slices;
        memory += profile.memory_slices;
        if !ids.insert(instance.gi) {
            return wrong(format!("{key}.gi"), "is there twice", "ids are unique in a layout");
        }
        let cut: u32 = instance.compute.iter().map(|compute| compute.slices).sum();
        if cut > profile.compute_slices || instance.compute.iter().any(|compute| compute.slices == 0) {
            let remedy = format!("{} has {} compute slices", profile.name, profile.compute_slices);
            return wrong(format!("{key}.compute"), "doesn't fit", remedy);
        }
        let given = instance.compute.iter().filter_map(|compute| compute.slot).chain(instance.slot);
        for slot in given {
            if slot >= preset.max_mig_devices() || !slots.insert(slot) {
                let remedy = format!("slots are 0 to {} and unique", preset.max_mig_devices() - 1);
                return wrong(format!("{key}.slot"), format!("{slot} can't be used"), remedy);
            }
        }
    }
    if compute > preset.compute_slices || memory > preset.memory_slices {
        let has = format!(
            "{} has {} compute and {} memory slices",
            preset.key, preset.compute_slices, preset.memory_slices
        );
        return wrong(
            format!("{key}.instances"),
            format!("need {compute} compute and {memory} memory slices"),
            has,
        );
    }
    Ok(())
}

fn check_interval(from: Seconds, to: Option<Seconds>, key: &str) -> Result<(), Wrong> {
    match to {
        Some(to) if to <= from => {
            wrong(key, "ends before it starts", "intervals are [from, to) with from < to")
        }
        _ => Ok(()),
    }
}

/// Refuses a wave whose steps would fill the memory.
fn check_wave(series: &Series, from: Seconds, to: Option<Seconds>, key: &str) -> Result<(), Wrong> {
    const PERIODS_MAX: i64 = 500_000;
    let Series::Wave(wave) = series else { return Ok(()) };
    let life_us = to.map_or(ENDLESS_WAVE_US, |to| to.micros() - from.micros()).min(ENDLESS_WAVE_US);
    if life_us / wave.period_s.micros() > PERIODS_MAX {
        return wrong(
            key,
            format!("has more than {PERIODS_MAX} periods"),
            "give it an end or a longer period",
        );
    }
    Ok(())
}

fn check_series(series: &Series, max: f64, key: &str) -> Result<(), Wrong> {
    let in_range = |value: f64| (0.0..=max).contains(&value);
    let remedy = format!("values are 0 to {max}");
    match series {
        Series::Constant(value) if !in_range(*value) => {
            wrong(key, format!("{value} is out of range"), remedy)
        }
        Series::Steps(steps) => {
            if let Some((_, value)) = steps.iter().find(|(_, value)| !in_range(*value)) {
                return wrong(key, format!("{value} is out of range"), remedy);
            }
            if steps.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
                return wrong(key, "its instants don't increase", "order the steps in time");
            }
            Ok(())
        }
        Series::Wave(wave) => {
            if !in_range(wave.percent) {
                return wrong(key, format!("{} is out of range", wave.percent), remedy);
            }
            if wave.on_s <= Seconds::ZERO || wave.on_s > wave.period_s {
                return wrong(key, "is on for no time or longer than its period", "0 < on_s <= period_s");
            }
            Ok(())
        }
        Series::Constant(_) => Ok(()),
    }
}
