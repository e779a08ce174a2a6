//! The ground truth of a scenario: what every process, virtual machine, GPU and MIG instance really did in a window.
//!
//! Figures are differences of running totals that are rounded down once, so the truths of adjacent windows add up to the
//! truth of the whole, and energy is exactly what the library's counter shows.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::{FULL, GpuModel, Model};
use crate::scenario::Scenario;
use crate::series::Steps;
use crate::{clock, state};

/// What happened in `[from_us, to_us)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Node.
    pub node: String,
    /// First instant, in unix µs.
    pub from_us: i64,
    /// First instant after the window.
    pub to_us: i64,
    /// Every process on a GPU that lived in the window, by its entry in the scenario.
    pub processes: Vec<ProcessTruth>,
    /// Every virtual machine that lived in the window.
    pub vms: Vec<VmTruth>,
    /// Every GPU.
    pub gpus: Vec<GpuTruth>,
    /// Every MIG device that existed in the window.
    pub instances: Vec<InstanceTruth>,
}

/// One process on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTruth {
    /// Its entry in the scenario.
    pub index: usize,
    /// PID on the host.
    pub pid: u32,
    /// GPU index.
    pub gpu: usize,
    /// GPU.
    pub gpu_uuid: String,
    /// GPU instance, under MIG.
    pub gi: Option<u32>,
    /// Compute instance, under MIG.
    pub ci: Option<u32>,
    /// MIG device, under MIG.
    pub mig_uuid: Option<String>,
    /// User.
    pub uid: u32,
    /// Executable.
    pub name: String,
    /// Lines of its cgroup file.
    pub cgroup: Vec<String>,
    /// When it started, in unix µs, be it before the window.
    pub start_us: i64,
    /// When it had gone, in unix µs, be it after the window; absent of one that never goes.
    pub end_us: Option<i64>,
    /// How long it was there, in µs.
    pub resident_us: u64,
    /// How long it kept the GPU busy (under MIG its GPU instance), in µs of the whole of it.
    pub busy_us: u64,
    /// Memory over time, in byte-milliseconds.
    pub memory_byte_ms: u128,
}

/// One virtual machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VmTruth {
    /// GPU.
    pub gpu_uuid: String,
    /// The hypervisor's id.
    pub vm_id: String,
    /// UUID of its vGPU.
    pub uuid: String,
    /// How long it was there, in µs.
    pub resident_us: u64,
    /// How long it kept the GPU busy, in µs of the whole GPU.
    pub busy_us: u64,
    /// Memory over time, in byte-milliseconds.
    pub memory_byte_ms: u128,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuTruth {
    /// Index.
    pub gpu: usize,
    /// UUID.
    pub uuid: String,
    /// How long it was busy, in µs of the whole GPU; under MIG each instance counts by its multiprocessors.
    pub busy_us: u64,
    /// Of which no process's or virtual machine's.
    pub ghost_us: u64,
    /// What it drew, in mJ.
    pub energy_mj: u64,
    /// How long it was lost, in µs.
    pub lost_us: u64,
}

/// One MIG device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceTruth {
    /// GPU.
    pub gpu_uuid: String,
    /// MIG device.
    pub uuid: String,
    /// MIG device index.
    pub slot: u32,
    /// GPU instance.
    pub gi: u32,
    /// Compute instance.
    pub ci: u32,
    /// GPU instance's profile.
    pub profile: String,
    /// Compute slices of this compute instance.
    pub compute_slices: u32,
    /// When it came, or the window's start.
    pub from_us: i64,
    /// When it went, or the window's end.
    pub to_us: i64,
    /// How long the whole GPU instance was busy meanwhile, in µs; the same through each of its compute instances.
    pub gi_busy_us: u64,
}

/// The truth of a scenario over a window of unix µs. A scenario without a start is taken to start at the unix epoch.
pub fn truth(scenario: &Scenario, from_us: i64, to_us: i64) -> Truth {
    of_model(&Model::new(scenario, scenario.start_us().unwrap_or(0)), from_us, to_us)
}

/// The truth of a compiled scenario over a window of unix µs.
pub fn of_model(model: &Model, from_us: i64, to_us: i64) -> Truth {
    let mut truth = Truth {
        node: model.scenario.node.clone(),
        from_us,
        to_us,
        processes: Vec::new(),
        vms: Vec::new(),
        gpus: Vec::new(),
        instances: Vec::new(),
    };
    let window = Window { from_us, to_us };
    for gpu in &model.gpus {
        truth.processes.extend(processes(model, gpu, window));
        truth.vms.extend(vms(model, gpu, window));
        truth.instances.extend(instances(gpu, window));
        let lost = gpu.lost_us.iter().map(|(from_us, to_us)| window.overlap_us(*from_us, *to_us)).sum();
        let energy = |at_us| gpu.energy_mj(model.boot_us, at_us);
        truth.gpus.push(GpuTruth {
            gpu: gpu.index,
            uuid: gpu.uuid.clone(),
            busy_us: window.busy_us(&gpu.busy),
            ghost_us: window.busy_us(&gpu.ghost),
            energy_mj: energy(to_us).saturating_sub(energy(from_us)),
            lost_us: lost,
        });
    }
    truth.processes.sort_by_key(|process| process.index);
    truth
}

#[derive(Clone, Copy)]
struct Window {
    from_us: i64,
    to_us: i64,
}

impl Window {
    fn overlap_us(self, from_us: i64, to_us: i64) -> u64 {
        let (from_us, to_us) = (from_us.max(self.from_us), to_us.min(self.to_us));
        if from_us < to_us { from_us.abs_diff(to_us) } else { 0 }
    }

    /// The integral in units of `unit`, so that adjacent windows add up.
    fn whole(self, steps: &Steps, unit: u128) -> u128 {
        steps.integral_to(self.to_us) / unit - steps.integral_to(self.from_us) / unit
    }

    fn busy_us(self, busy: &Steps) -> u64 {
        u64::try_from(self.whole(busy, u128::from(FULL))).unwrap_or(u64::MAX)
    }
}

fn processes(model: &Model, gpu: &GpuModel, window: Window) -> Vec<ProcessTruth> {
    let mut found = Vec::new();
    for process in &gpu.processes {
        let resident_us = window.overlap_us(process.start_us, process.end_us);
        if resident_us == 0 {
            continue;
        }
        let entry = &model.scenario.processes[process.entry];
        let mig_uuid = process.instance.and_then(|(gi, ci)| {
            let (_, layout) = gpu.layout_at(process.start_us)?;
            let (_, device) =
                layout.devices().find(|(instance, device)| instance.gi == gi && device.ci == ci)?;
            Some(device.uuid.clone())
        });
        found.push(ProcessTruth {
            index: process.entry,
            pid: process.pid,
            gpu: gpu.index,
            gpu_uuid: gpu.uuid.clone(),
            gi: process.instance.map(|(gi, _)| gi),
            ci: process.instance.map(|(_, ci)| ci),
            mig_uuid,
            uid: entry.uid,
            name: entry.name.clone(),
            cgroup: entry.cgroup.clone(),
            start_us: process.start_us,
            end_us: Some(process.end_us).filter(|end_us| *end_us != i64::MAX),
            resident_us,
            busy_us: window.busy_us(&process.busy),
            memory_byte_ms: window.whole(&process.memory, 1000),
        });
    }
    found
}

fn vms(model: &Model, gpu: &GpuModel, window: Window) -> Vec<VmTruth> {
    let alive = gpu.vms.iter().filter(|vm| window.overlap_us(vm.start_us, vm.end_us) > 0);
    let truth = alive.map(|vm| VmTruth {
        gpu_uuid: gpu.uuid.clone(),
        vm_id: model.scenario.gpus[gpu.index].vms[vm.entry].vm_id.clone(),
        uuid: vm.uuid.clone(),
        resident_us: window.overlap_us(vm.start_us, vm.end_us),
        busy_us: window.busy_us(&vm.busy),
        memory_byte_ms: window.whole(&vm.memory, 1000),
    });
    truth.collect()
}

fn instances(gpu: &GpuModel, window: Window) -> Vec<InstanceTruth> {
    let mut found = Vec::new();
    for layout in gpu.layouts.iter().filter(|layout| window.overlap_us(layout.from_us, layout.to_us) > 0) {
        for (instance, device) in layout.devices() {
            found.push(InstanceTruth {
                gpu_uuid: gpu.uuid.clone(),
                uuid: device.uuid.clone(),
                slot: device.slot,
                gi: instance.gi,
                ci: device.ci,
                profile: instance.profile.name.to_owned(),
                compute_slices: device.slices,
                from_us: layout.from_us.max(window.from_us),
                to_us: layout.to_us.min(window.to_us),
                gi_busy_us: window.busy_us(&instance.busy),
            });
        }
    }
    found
}

/// Writes the truth of a window as JSON.
pub(crate) fn write(model: &Model, from_us: i64, to_us: i64, file: &Path) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(&of_model(model, from_us, to_us))?;
    std::fs::write(file, json)
}

/// Writes the truth since the first init, where `FAKE_NVML_TRUTH` names a file.
pub(crate) fn write_if_asked() {
    let (Some(file), Some(model), Some(from_us)) =
        (std::env::var_os("FAKE_NVML_TRUTH"), state::loaded(), state::first_init_us())
    else {
        return;
    };
    if let Err(error) = write(&model, from_us, clock::now_us(model.start_us), Path::new(&file)) {
        eprintln!("fake-nvml: {}: could not write the truth: {error}", Path::new(&file).display());
    }
}
