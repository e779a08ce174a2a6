//! How a device is cut by MIG at this instant. Slots may be sparse, handles die with a reconfiguration, and ids and
//! handle values come back for other instances: everything is found anew on every tick, and only facts of a UUID kept.

use super::call::{Calls, Code, nvml};
use super::gpm::{Pairs, Target};
use super::identity;
use crate::reading::{Field, Instance, Memory};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t};
use schema::wire::Reason;

/// What holds as long as an instance of this UUID exists.
#[derive(Clone)]
struct Facts {
    uuid: String,
    gpu_instance: u32,
    compute_instance: u32,
    profile: String,
    gpu_instance_slices: u32,
    slices: u32,
    multiprocessors: u32,
}

/// A device's instances as they were at the last tick.
#[derive(Default)]
pub(super) struct Layout {
    slots_max: Option<u32>,
    known: Vec<Facts>,
}

impl Layout {
    /// The instances in place now; the flag says whether they are others than at the last tick.
    pub fn read(
        &mut self,
        calls: &Calls,
        device: nvmlDevice_t,
        pairs: &mut Pairs,
        gpm: bool,
    ) -> Field<(Vec<Instance>, bool)> {
        let slots = self.slots(calls, device).map_err(Code::reason)?;
        let mut present: Vec<(Facts, nvmlDevice_t)> = Vec::with_capacity(slots as usize);
        for slot in 0..slots {
            let mut handle = std::ptr::null_mut();
            match nvml!(calls, nvmlDeviceGetMigDeviceHandleByIndex(device, slot, &mut handle)) {
                Ok(()) => {}
                // An empty slot says nothing of the slots after it.
                Err(Code::NOT_FOUND) => continue,
                Err(code) => return Err(code.reason()),
            }
            present.push((self.facts(calls, handle).map_err(Code::reason)?, handle));
        }
        present.sort_by_key(|(facts, _)| (facts.gpu_instance, facts.compute_instance));
        let fingerprint = |f: &Facts| (f.uuid.clone(), f.profile.clone(), f.gpu_instance, f.compute_instance);
        let changed =
            !self.known.iter().map(fingerprint).eq(present.iter().map(|(facts, _)| fingerprint(facts)));
        if changed {
            pairs.clear(calls);
        }
        self.known = present.iter().map(|(facts, _)| facts.clone()).collect();
        Ok((measure(calls, device, &present, pairs, gpm), changed))
    }

    /// Forgets the instances: MIG is off, or the device was lost.
    pub fn forget(&mut self) -> bool {
        self.slots_max = None;
        !std::mem::take(&mut self.known).is_empty()
    }

    fn slots(&mut self, calls: &Calls, device: nvmlDevice_t) -> Result<u32, Code> {
        if let Some(slots) = self.slots_max {
            return Ok(slots);
        }
        let mut slots = 0;
        nvml!(calls, nvmlDeviceGetMaxMigDeviceCount(device, &mut slots))?;
        self.slots_max = Some(slots);
        Ok(slots)
    }

    fn facts(&self, calls: &Calls, handle: nvmlDevice_t) -> Result<Facts, Code> {
        let uuid = identity::uuid(calls, handle)?;
        if let Some(known) = self.known.iter().find(|facts| facts.uuid == uuid) {
            return Ok(known.clone());
        }
        let (mut gpu_instance, mut compute_instance) = (0, 0);
        nvml!(calls, nvmlDeviceGetGpuInstanceId(handle, &mut gpu_instance))?;
        nvml!(calls, nvmlDeviceGetComputeInstanceId(handle, &mut compute_instance))?;
        // SAFETY: the struct is integers only, for which all zeros is a value.
        let mut attributes: nvmlDeviceAttributes_t = unsafe { std::mem::zeroed() };
        nvml!(calls, nvmlDeviceGetAttributes_v2(handle, &mut attributes))?;
        let name = identity::name(calls, handle).unwrap_or_default();
        Ok(Facts {
            uuid,
            gpu_instance,
            compute_instance,
            profile: profile(&name, &attributes),
            gpu_instance_slices: attributes.gpuInstanceSliceCount,
            slices: attributes.computeInstanceSliceCount,
            multiprocessors: attributes.multiprocessorCount,
        })
    }
}

/// `NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb` names the profile; where a name doesn't, its slices and memory do.
fn profile(name: &str, attributes: &nvmlDeviceAttributes_t) -> String {
    if let Some((_, profile)) = name.rsplit_once(" MIG ") {
        return profile.trim().to_owned();
    }
    let (gpu, compute) = (attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount);
    let gigabytes = attributes.memorySizeMB.div_ceil(1024);
    if compute == gpu { format!("{gpu}g.{gigabytes}gb") } else { format!("{compute}c.{gpu}g.{gigabytes}gb") }
}

/// Memory and activity: once for each GPU instance, and for each compute instance where one GPU instance has several.
fn measure(
    calls: &Calls,
    device: nvmlDevice_t,
    present: &[(Facts, nvmlDevice_t)],
    pairs: &mut Pairs,
    gpm: bool,
) -> Vec<Instance> {
    let mut instances: Vec<Instance> = Vec::with_capacity(present.len());
    for (facts, handle) in present {
        let gi = facts.gpu_instance;
        let shared = present.iter().filter(|(other, _)| other.gpu_instance == gi).count() > 1;
        let sibling = instances.iter().find(|i: &&Instance| i.gpu_instance == gi).map(|i| (i.memory, i.gpm));
        let (memory, activity): (Field<Memory>, _) = sibling.unwrap_or_else(|| {
            let activity = if gpm {
                pairs.read(calls, device, Target::GpuInstance(gi), None)
            } else {
                Err(Reason::MigPreHopper)
            };
            (identity::memory(calls, *handle).map_err(Code::reason), activity)
        });
        let own_gpm = (shared && gpm)
            .then(|| pairs.read(calls, *handle, Target::Handle, Some(gi << 16 | facts.compute_instance)).ok())
            .flatten();
        instances.push(Instance {
            gpu_instance: gi,
            compute_instance: facts.compute_instance,
            uuid: facts.uuid.clone(),
            profile: facts.profile.clone(),
            gpu_instance_slices: facts.gpu_instance_slices,
            slices: facts.slices,
            multiprocessors: facts.multiprocessors,
            memory,
            gpm: activity,
            own_gpm,
            dcgm: None,
        });
    }
    instances
}
