//! A GPU over time: its MIG layouts, who is on it, and how busy it is as a whole and by instance.

use super::share::{FULL, share};
use super::{Clock, MIB, ids};
use crate::presets::{self, IN_USE_OVERHEAD_BYTES, Preset, Profile};
use crate::scenario::{ComputeInstance, MigLayout, Scenario, Series};
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

/// A MIG layout during `[from_us, to_us)`.
#[derive(Debug)]
pub struct LayoutModel {
    /// First instant.
    pub from_us: i64,
    /// First instant after it.
    pub to_us: i64,
    /// GPU instances.
    pub instances: Vec<InstanceModel>,
}

/// A GPU instance.
#[derive(Debug)]
pub struct InstanceModel {
    /// Its id.
    pub gi: u32,
    /// Its profile.
    pub profile: &'static Profile,
    /// First memory slice.
    pub placement: u32,
    /// Busy of the whole instance.
    pub busy: Steps,
    /// Its MIG devices.
    pub devices: Vec<MigDeviceModel>,
}

/// A MIG device: a compute instance.
#[derive(Debug)]
pub struct MigDeviceModel {
    /// MIG device index.
    pub slot: u32,
    /// Id within the GPU instance.
    pub ci: u32,
    /// Compute slices.
    pub slices: u32,
    /// Multiprocessors.
    pub sm_count: u32,
    /// `MIG-...`
    pub uuid: String,
    /// `3g.40gb` or `1c.3g.40gb`.
    pub profile_name: String,
    /// Busy of the compute instance alone.
    pub busy: Steps,
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

    /// Memory in use at an instant, without what the driver reserves, in bytes.
    pub fn used_bytes(&self, at_us: i64) -> u64 {
        if let Some((_, layout)) = self.layout_at(at_us) {
            return layout.instances.iter().map(|instance| self.instance_used_bytes(instance, at_us)).sum();
        }
        let processes = self.alive_at(at_us).map(|process| process.memory.value_at(at_us));
        let vms = self.vms_at(at_us).map(|vm| vm.memory.value_at(at_us));
        let (users, used) =
            processes.chain(vms).fold((0, 0), |(users, used), bytes| (users + 1, used + bytes));
        let overhead = if users > 0 { self.preset.overhead_bytes } else { 0 };
        (used + overhead).min(self.preset.total_bytes - self.preset.reserved_bytes)
    }

    /// Memory in use on a GPU instance at an instant, in bytes.
    pub fn instance_used_bytes(&self, instance: &InstanceModel, at_us: i64) -> u64 {
        let members =
            self.alive_at(at_us).filter(|process| process.instance.is_some_and(|(gi, _)| gi == instance.gi));
        let (users, used) =
            members.fold((0, 0), |(users, used), process| (users + 1, used + process.memory.value_at(at_us)));
        let in_use = if users > 0 { IN_USE_OVERHEAD_BYTES } else { 0 };
        (used + instance.profile.overhead_bytes + in_use).min(instance.profile.total_bytes)
    }

    /// Draw at an instant, in mW.
    pub fn power_mw(&self, at_us: i64) -> u64 {
        let span = u128::from(self.preset.max_mw - self.preset.idle_mw);
        let above_idle = span * u128::from(self.busy.value_at(at_us)) / u128::from(FULL);
        self.preset.idle_mw + u64::try_from(above_idle).expect("no more than the power limit")
    }

    /// Energy from one instant to another, in whole mJ; of windows that start at the same instant, the difference is
    /// exactly the energy between their ends.
    pub fn energy_mj(&self, from_us: i64, to_us: i64) -> u64 {
        let duration = u128::from(to_us.saturating_sub(from_us).max(0).unsigned_abs());
        let idle = u128::from(self.preset.idle_mw) * duration * u128::from(FULL);
        let above_idle =
            u128::from(self.preset.max_mw - self.preset.idle_mw) * self.busy.integral(from_us, to_us);
        u64::try_from((idle + above_idle) / (u128::from(FULL) * 1_000_000))
            .expect("a GPU's energy fits 64 bits of mJ")
    }
}

impl LayoutModel {
    fn new(layout: &MigLayout, preset: &'static Preset, gpu_uuid: &str, clock: &Clock) -> Self {
        let given = layout.instances.iter().flat_map(|instance| {
            instance.compute.iter().filter_map(|compute| compute.slot).chain(instance.slot)
        });
        let mut taken: Vec<u32> = given.collect();
        let mut next_free = || {
            let slot = (0..).find(|slot| !taken.contains(slot)).expect("slots are never all taken");
            taken.push(slot);
            slot
        };
        let mut placement = 0;
        let mut instances = Vec::new();
        for instance in &layout.instances {
            let profile = preset.profile(&instance.profile).expect("checked with the scenario");
            let whole =
                ComputeInstance { ci: 0, slices: profile.compute_slices, slot: instance.slot, uuid: None };
            let compute = if instance.compute.is_empty() {
                std::slice::from_ref(&whole)
            } else {
                instance.compute.as_slice()
            };
            let devices = compute.iter().map(|compute| {
                let slot = compute.slot.unwrap_or_else(&mut next_free);
                MigDeviceModel::new(compute, slot, instance.gi, profile, (preset, gpu_uuid))
            });
            let devices = devices.collect();
            instances.push(InstanceModel {
                gi: instance.gi,
                profile,
                placement,
                busy: Steps::default(),
                devices,
            });
            placement += profile.memory_slices;
        }
        Self { from_us: clock.at(layout.from), to_us: clock.end(layout.to), instances }
    }

    /// The instance with this id.
    pub fn instance(&self, gi: u32) -> Option<&InstanceModel> {
        self.instances.iter().find(|instance| instance.gi == gi)
    }

    /// The MIG device in this slot, with its instance.
    pub fn device(&self, slot: u32) -> Option<(&InstanceModel, &MigDeviceModel)> {
        self.devices().find(|(_, device)| device.slot == slot)
    }

    /// Every MIG device, with its instance.
    pub fn devices(&self) -> impl Iterator<Item = (&InstanceModel, &MigDeviceModel)> {
        self.instances
            .iter()
            .flat_map(|instance| instance.devices.iter().map(move |device| (instance, device)))
    }
}

impl MigDeviceModel {
    fn new(
        compute: &ComputeInstance,
        slot: u32,
        gi: u32,
        profile: &Profile,
        (preset, gpu_uuid): (&Preset, &str),
    ) -> Self {
        let whole = compute.slices == profile.compute_slices;
        let derived = || {
            format!("MIG-{}", ids::uuid(&[gpu_uuid, profile.name, &gi.to_string(), &compute.ci.to_string()]))
        };
        Self {
            slot,
            ci: compute.ci,
            slices: compute.slices,
            sm_count: if whole { profile.sm_count } else { compute.slices * preset.sms_per_slice() },
            uuid: compute.uuid.clone().unwrap_or_else(derived),
            profile_name: if whole {
                profile.name.to_owned()
            } else {
                format!("{}c.{}", compute.slices, profile.name)
            },
            busy: Steps::default(),
        }
    }
}

/// Memory as NVML reports it of a whole GPU or of an instance, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNow {
    /// All of it.
    pub total: u64,
    /// What the driver keeps.
    pub reserved: u64,
    /// What is used, without what the driver keeps.
    pub used: u64,
}

impl MemoryNow {
    /// What is left.
    pub fn free(self) -> u64 {
        self.total - self.reserved - self.used
    }

    /// Whole MiB, as nvidia-smi prints them.
    pub fn mib(bytes: u64) -> u64 {
        (bytes + MIB / 2) / MIB
    }
}
