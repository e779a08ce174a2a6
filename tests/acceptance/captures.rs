//! What real machines printed, held against the simulated library: memory within 1 MiB a term, one memory per GPU
//! instance, no per-process utilisation under MIG, power on the parent only.
//!
//! A capture's loaded state (its second `nvidia-smi -q`) is turned into a scenario with the same layout and processes;
//! then both are asked the same questions.

use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use nvidia_ml::scenario::{ComputeInstance, Gpu, GpuInstance, Process, Scenario};
use nvml_wrapper::{Device, Nvml};
use simulator::library::Library;
use simulator::node::NodeFiles;
use std::path::Path;

const SECTION: &str = "captures";
const MIB: u64 = 1 << 20;
/// 2026-09-01T00:00:00Z.
const START_MS: i64 = 1_788_220_800_000;

/// Compares every capture in `folder`.
///
/// # Errors
/// A capture can't be read or turned into a scenario.
pub fn run(figures: &mut Figures, folder: &Path) -> Result<()> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    files.sort();
    ensure!(!files.is_empty(), "no captures in {}", folder.display());
    for file in files {
        let name = file.file_stem().context("a capture without a name")?.to_string_lossy().to_string();
        let machine = name.split("__").nth(1).context("captures are named os__machine__driver")?.to_string();
        let text = std::fs::read_to_string(&file)?;
        let capture = Capture::parse(&text, &machine).with_context(|| name.clone())?;
        compare(figures, &machine.replace('-', "_"), &capture).with_context(|| name.clone())?;
    }
    Ok(())
}

/// Memory in MiB, as printed.
#[derive(Debug, Default, Clone, Copy)]
struct Memory {
    total: u64,
    reserved: u64,
    used: u64,
    free: u64,
}

impl Memory {
    /// The largest difference of a term, MiB.
    fn distance(&self, other: &Memory) -> f64 {
        [
            self.total.abs_diff(other.total),
            self.reserved.abs_diff(other.reserved),
            self.used.abs_diff(other.used),
            self.free.abs_diff(other.free),
        ]
        .into_iter()
        .max()
        .unwrap_or_default() as f64
    }
}

#[derive(Debug, Default)]
struct MigDevice {
    gi: u32,
    ci: u32,
    profile: String,
    multiprocessors: u32,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Running {
    gi: Option<u32>,
    ci: Option<u32>,
    pid: u32,
    used_mib: u64,
}

struct Capture {
    preset: &'static str,
    memory: Memory,
    mig: Vec<MigDevice>,
    processes: Vec<Running>,
}

impl Capture {
    fn parse(text: &str, machine: &str) -> Result<Self> {
        let preset = match machine {
            m if m.contains("h100") => "h100",
            m if m.contains("h200") => "h200",
            m if m.contains("l40s") => "l40s",
            other => anyhow::bail!("no preset is known for {other}"),
        };
        // The second full query is the one under load; it ends where the next command begins.
        let loaded = text.split("# $ nvidia-smi -q\n").nth(2).context("no second `nvidia-smi -q`")?;
        let loaded = loaded.split("# $ ").next().unwrap_or(loaded);
        let profiles: Vec<String> = text
            .lines()
            .filter_map(|l| l.trim_start().strip_prefix("MIG "))
            .filter_map(|l| l.split_whitespace().next())
            .filter(|p| p.contains("g."))
            .map(str::to_string)
            .collect();
        let mut capture = Self { preset, memory: Memory::default(), mig: Vec::new(), processes: Vec::new() };
        let mut block = "";
        for line in loaded.lines() {
            let (key, value) =
                line.split_once(" : ").map_or((line.trim(), ""), |(k, v)| (k.trim(), v.trim()));
            let number =
                || value.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
            match key {
                "FB Memory Usage"
                | "Shared FB Memory Usage"
                | "Processes"
                | "MIG Device"
                | "BAR1 Memory Usage"
                | "Shared BAR1 Memory"
                | "Conf Compute Protected Memory Usage" => {
                    block = key;
                    if key == "MIG Device" {
                        let profile = profiles.get(capture.mig.len()).cloned().unwrap_or_default();
                        capture.mig.push(MigDevice { profile, ..MigDevice::default() });
                    }
                }
                "GPU Instance ID" => last(&mut capture.mig)?.gi = number() as u32,
                "Compute Instance ID" => last(&mut capture.mig)?.ci = number() as u32,
                "Multiprocessor count" => last(&mut capture.mig)?.multiprocessors = number() as u32,
                "GPU instance ID" => {
                    capture.processes.push(Running { gi: value.parse().ok(), ..Running::default() })
                }
                "Compute instance ID" => last(&mut capture.processes)?.ci = value.parse().ok(),
                "Process ID" => last(&mut capture.processes)?.pid = number() as u32,
                "Used GPU Memory" => last(&mut capture.processes)?.used_mib = number(),
                "Total" | "Reserved" | "Used" | "Free" if block.ends_with("FB Memory Usage") => {
                    let memory = if block == "FB Memory Usage" {
                        &mut capture.memory
                    } else {
                        &mut last(&mut capture.mig)?.memory
                    };
                    match key {
                        "Total" => memory.total = number(),
                        "Reserved" => memory.reserved = number(),
                        "Used" => memory.used = number(),
                        _ => memory.free = number(),
                    }
                }
                _ => {}
            }
        }
        ensure!(capture.memory.total > 0, "no framebuffer total was found");
        Ok(capture)
    }

    fn scenario(&self) -> Scenario {
        let mut node = Scenario::new("capture").starting_at_us(START_MS * 1000);
        let mut gpu = Gpu::new(self.preset);
        if !self.mig.is_empty() {
            let mut instances: Vec<GpuInstance> = Vec::new();
            for (slot, device) in self.mig.iter().enumerate() {
                // `1c.3g.40gb` is a part of a `3g.40gb`.
                let (part, whole) = match device.profile.split_once("c.") {
                    Some((slices, whole)) => (slices.parse().ok(), whole),
                    None => (None, device.profile.as_str()),
                };
                let slices = part.or_else(|| whole.chars().next()?.to_digit(10)).unwrap_or(1);
                let compute = ComputeInstance { ci: device.ci, slices, slot: Some(slot as u32), uuid: None };
                match instances.iter_mut().find(|i| i.gi == device.gi) {
                    Some(instance) => instance.compute.push(compute),
                    None => {
                        instances.push(GpuInstance {
                            compute: vec![compute],
                            ..GpuInstance::new(device.gi, whole)
                        });
                    }
                }
            }
            gpu = gpu.with_mig(instances);
        }
        node.gpus.push(gpu);
        for running in &self.processes {
            let mut process = Process::new(running.pid, 0).busy(90.0).memory_mib(running.used_mib as f64);
            if let (Some(gi), Some(ci)) = (running.gi, running.ci) {
                process = process.on_instance(gi, ci);
            }
            node.processes.push(process);
        }
        node
    }
}

fn last<T>(list: &mut [T]) -> Result<&mut T> {
    list.last_mut().context("a value before its block")
}

fn compare(figures: &mut Figures, machine: &str, capture: &Capture) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let files = NodeFiles::write(dir.path(), &capture.scenario())?;
    let library = Library::copy_into(dir.path())?;
    library.load_scenario(&files.scenario)?;
    library.set_time_ms(START_MS + 60_000)?;
    let nvml = Nvml::builder().lib_path(library.path().as_os_str()).init()?;
    let device = nvml.device_by_index(0)?;

    let mut worst = capture.memory.distance(&memory_of(&device)?);
    let mut multiprocessors_off = 0.0;
    let mut powered_instances = 0.0;
    for (slot, printed) in capture.mig.iter().enumerate() {
        let mig = device.mig_device_by_index(slot as u32)?;
        worst = worst.max(printed.memory.distance(&memory_of(&mig)?));
        multiprocessors_off +=
            f64::from(mig.attributes()?.multiprocessor_count.abs_diff(printed.multiprocessors));
        powered_instances += f64::from(u8::from(mig.power_usage().is_ok()));
    }
    figures.add(SECTION, &format!("{machine}_memory"), worst, "MiB off", Target::AtMost(1.0));
    figures.add(
        SECTION,
        &format!("{machine}_parent_power"),
        f64::from(u8::from(device.power_usage().is_ok())),
        "answers",
        Target::AtLeast(1.0),
    );
    let listed: u64 = device
        .running_compute_processes()?
        .iter()
        .map(|p| match p.used_gpu_memory {
            nvml_wrapper::enums::device::UsedGpuMemory::Used(bytes) => bytes / MIB,
            nvml_wrapper::enums::device::UsedGpuMemory::Unavailable => 0,
        })
        .sum();
    let printed: u64 = capture.processes.iter().map(|p| p.used_mib).sum();
    figures.add(
        SECTION,
        &format!("{machine}_process_memory"),
        listed.abs_diff(printed) as f64,
        "MiB off",
        Target::AtMost(1.0),
    );
    if !capture.mig.is_empty() {
        figures.add(
            SECTION,
            &format!("{machine}_multiprocessors"),
            multiprocessors_off,
            "off",
            Target::AtMost(0.0),
        );
        figures.add(
            SECTION,
            &format!("{machine}_instances_with_power"),
            powered_instances,
            "instances",
            Target::AtMost(0.0),
        );
        let samples = f64::from(u8::from(device.process_utilization_stats(None).is_ok()));
        figures.add(
            SECTION,
            &format!("{machine}_process_utilisation"),
            samples,
            "answers",
            Target::AtMost(0.0),
        );
    }
    Ok(())
}

fn memory_of(device: &Device) -> Result<Memory> {
    let memory = device.memory_info()?;
    // nvidia-smi prints whole MiB, rounded to the nearest; one unit a term is rounding.
    let mib = |bytes: u64| (bytes + MIB / 2) / MIB;
    Ok(Memory {
        total: mib(memory.total),
        reserved: mib(memory.reserved),
        used: mib(memory.used),
        free: mib(memory.free),
    })
}
