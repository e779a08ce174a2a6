//! A GPU over time: its MIG layouts, who is on it, and how busy it is as a whole and by instance.

use super::layout::LayoutModel;
use super::share::share;
use super::{Clock, ids};
use crate::presets::{self, Preset};
use crate::scenario::{Scenario, Series};
use crate::series::Steps;

/// A GPU.
#[derive(Debug)]
pub struct GpuModel {
    /// Its place in the node.
    pub index: usize,
    /// Its product.
    pub preset: &'static Preset,
    /// `GPU-...`
    pub uuid: String,
    /// MIG layouts, in order of time.
    pub layouts: Vec<LayoutModel>,
    /// Processes, by start.
    pub processes: Vec<ProcessModel>,
    /// Virtual machines.
    pub vms: Vec<VmModel>,
    /// Busy of nobody.
    pub ghost: Steps,
    /// Busy of the whole GPU; under MIG each instance counts by its multiprocessors.
    pub busy: Steps,
    /// Intervals in which it is lost.
    pub lost_us: Vec<(i64, i64)>,
}

/// A process on a GPU.
#[derive(Debug)]
pub struct ProcessModel {
    /// Its entry in the scenario.
    pub entry: usize,
    /// PID on the host.
    pub pid: u32,
    /// GPU instance and compute instance.
    pub instance: Option<(u32, u32)>,
    /// When it starts.
    pub start_us: i64,
    /// When it has gone.
    pub end_us: i64,
    /// Busy that it gets, of the GPU or of its GPU instance.
    pub busy: Steps,
    /// Memory.
    pub memory: Steps,
    /// Where its rounding of percents starts, as a number of 64 bits.
    pub phase: u64,
}

/// A virtual machine on a GPU.
#[derive(Debug)]
pub struct VmModel {
    /// Its entry among the GPU's.
    pub entry: usize,
    /// UUID of its vGPU.
    pub uuid: String,
    /// When it starts.
    pub start_us: i64,
    /// When it has gone.
    pub end_us: i64,
    /// Busy that it gets.
    pub busy: Steps,
    /// Memory.
    pub memory: Steps,
    /// Where its rounding of percents starts.
    pub phase: u64,
}

impl GpuModel {
    pub(super) fn new(scenario: &Scenario, index: usize, clock: &Clock) -> Self {
        let gpu = &scenario.gpus[index];
        let preset = presets::find(&gpu.preset).expect("checked with the scenario");
        let node = scenario.node.as_str();
        let uuid =
            gpu.uuid.clone().unwrap_or_else(|| format!("GPU-{}", ids::uuid(&[node, &index.to_string()])));
        let seed = scenario.seed.to_string();

        let mut processes: Vec<ProcessModel> = Vec::new();
        let of_gpu = scenario.processes.iter().enumerate().filter(|(_, process)| process.gpu == Some(index));
        for (entry, process) in of_gpu {
            let (start_us, end_us) = (clock.at(process.start), clock.end(process.end));
            processes.push(ProcessModel {
                entry,
                pid: process.pid,
                instance: process.gi.map(|gi| (gi, process.ci.unwrap_or(0))),
                start_us,
                end_us,
                busy: clock.busy(&process.busy, start_us, end_us),
                memory: clock.memory(&process.memory_mib, start_us, end_us),
                phase: ids::hash(&[&seed, &uuid, &process.pid.to_string(), &start_us.to_string()]),
            });
        }
        processes.sort_by_key(|process| (process.start_us, process.entry));
        let mut vms: Vec<VmModel> = Vec::new();
        for (entry, vm) in gpu.vms.iter().enumerate() {
            let (start_us, end_us) = (clock.at(vm.start), clock.end(vm.end));
            let vm_uuid = ids::uuid(&[&uuid, &vm.vm_id]);
            vms.push(VmModel {
                entry,
                start_us,
                end_us,
                busy: clock.busy(&vm.busy, start_us, end_us),
                memory: clock.memory(&vm.memory_mib, start_us, end_us),
                phase: ids::hash(&[&seed, &vm_uuid]),
                uuid: vm_uuid,
            });
        }
        let ghost =
            clock.busy(gpu.ghost_busy.as_ref().unwrap_or(&Series::Constant(0.0)), clock.start_us, i64::MAX);
        let layouts = gpu.mig.iter().map(|layout| LayoutModel::new(layout, preset, &uuid, clock)).collect();
        let mut model = Self {
            index,
            preset,
            uuid,
            layouts,
            processes,
            vms,
            ghost,
            busy: Steps::default(),
            lost_us: Vec::new(),
        };
        model.share_whole();
        model.share_instances();
        model
    }

    /// Divides the GPU itself among those that use it outside MIG.
    fn share_whole(&mut self) {
        let mut processes: Vec<&mut ProcessModel> =
            self.processes.iter_mut().filter(|process| process.instance.is_none()).collect();
        let asked: Vec<Steps> = processes
            .iter()
            .map(|process| process.busy.clone())
            .chain(self.vms.iter().map(|vm| vm.busy.clone()))
            .chain([self.ghost.clone()])
            .collect();
        let given = share(&asked);
        self.busy = Steps::sum(&given);
        let mut given = given.into_iter();
        for process in &mut processes {
            process.busy = given.next().expect("one share for each process");
        }
        for vm in &mut self.vms {
            vm.busy = given.next().expect("one share for each virtual machine");
        }
        self.ghost = given.next().expect("one share for nobody");
    }

    /// Divides each compute instance among its processes, and adds up instances and GPU.
    fn share_instances(&mut self) {
        let mut parts = vec![std::mem::take(&mut self.busy)];
        for layout in &mut self.layouts {
            for instance in &mut layout.instances {
                let mut all = Vec::new();
                for device in &mut instance.devices {
                    let mut members: Vec<&mut ProcessModel> = self
                        .processes
                        .iter_mut()
                        .filter(|process| process.instance == Some((instance.gi, device.ci)))
                        .filter(|process| {
                            layout.from_us <= process.start_us && process.start_us < layout.to_us
                        })
                        .collect();
                    let asked: Vec<Steps> = members.iter().map(|process| process.busy.clone()).collect();
                    let given = share(&asked);
                    device.busy = Steps::sum(&given);
                    let (slices, of) = (u64::from(device.slices), u64::from(instance.profile.compute_slices));
                    for (process, given) in members.iter_mut().zip(given) {
                        process.busy = given.scaled(slices, of);
                        all.push(process.busy.clone());
                    }
                }
                instance.busy = Steps::sum(&all);
                let sms = u64::from(instance.profile.sm_count);
                parts.push(instance.busy.scaled(sms, u64::from(self.preset.sm_count)));
            }
        }
        self.busy = Steps::sum(&parts);
    }

    /// The layout that holds at an instant, with its number.
    pub fn layout_at(&self, at_us: i64) -> Option<(usize, &LayoutModel)> {
        self.layouts.iter().enumerate().find(|(_, layout)| layout.from_us <= at_us && at_us < layout.to_us)
    }

    /// Processes that live at an instant.
    pub fn alive_at(&self, at_us: i64) -> impl Iterator<Item = &ProcessModel> {
        let started = self.processes.partition_point(|process| process.start_us <= at_us);
        self.processes[..started].iter().filter(move |process| at_us < process.end_us)
    }

    /// Virtual machines that live at an instant.
    pub fn vms_at(&self, at_us: i64) -> impl Iterator<Item = &VmModel> {
        self.vms.iter().filter(move |vm| vm.start_us <= at_us && at_us < vm.end_us)
    }
}
