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
        let profiles: Vec<&'static Profile> = layout
            .instances
            .iter()
            .map(|instance| preset.profile(&instance.profile).expect("checked with the scenario"))
            .collect();
        let placements = place(&profiles, preset);
        let mut instances = Vec::new();
        for ((instance, profile), placement) in layout.instances.iter().zip(profiles).zip(placements) {
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

/// Where instances of these profiles lie: the largest first, each as far back as it may, which leaves the front to
/// those that may lie nowhere else.
fn place(profiles: &[&'static Profile], preset: &Preset) -> Vec<u32> {
    let mut order: Vec<usize> = (0..profiles.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(profiles[*index].memory_slices));
    let mut placements: Vec<Option<u32>> = vec![None; profiles.len()];
    for index in order {
        let size = profiles[index].memory_slices;
        let is_free = |start: &u32| {
            let taken = placements
                .iter()
                .zip(profiles)
                .filter_map(|(at, other)| Some((*at)?..(*at)? + other.memory_slices));
            taken.into_iter().all(|other| start + size <= other.start || other.end <= *start)
        };
        let allowed = profiles[index].starts(preset.compute_slices, preset.memory_slices).rev().find(is_free);
        placements[index] = allowed.or_else(|| (0..=preset.memory_slices - size).find(is_free));
    }
    placements.into_iter().map(|placement| placement.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::place;
    use crate::presets;

    #[test]
    fn instances_lie_where_real_ones_may() {
        for (key, profiles, expected) in [
            ("h100", &["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"][..], &[4, 2, 1, 0][..]),
            ("h100", &["1g.10gb", "2g.20gb", "4g.40gb"], &[6, 4, 0]),
            ("h100", &["1g.10gb"; 7], &[6, 5, 4, 3, 2, 1, 0]),
            ("h100", &["1g.20gb"; 4], &[6, 4, 2, 0]),
            ("a30", &["2g.12gb", "1g.6gb", "1g.6gb"], &[2, 1, 0]),
        ] {
            let preset = presets::find(key).expect("a preset");
            let found = profiles.iter().map(|name| preset.profile(name).expect("a profile"));
            assert_eq!(place(&found.collect::<Vec<_>>(), preset), expected, "{key} {profiles:?}");
        }
    }
}
