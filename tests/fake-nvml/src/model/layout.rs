//! How MIG cuts a GPU: layouts, GPU instances, and MIG devices.

use super::{Clock, ids};
use crate::presets::{Preset, Profile};
use crate::scenario::{ComputeInstance, MigLayout};
use crate::series::Steps;

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

impl LayoutModel {
    pub(super) fn new(layout: &MigLayout, preset: &'static Preset, gpu_uuid: &str, clock: &Clock) -> Self {
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
