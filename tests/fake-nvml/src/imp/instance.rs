//! GPU instances as objects of their own: which there are, where they lie, and the profiles they can have.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{
    nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_t,
    nvmlReturn_t,
};

use crate::call::{self, Code, Device, device_calls, put, put_list};
use crate::handle::Handle;
use crate::model::MIB;
use crate::names::id;
use crate::presets::Profile;

/// Marks a number as an instance's handle.
const TAG: u64 = 0x5B;

fn encode(device: &Device, layout: usize, gi: u32) -> nvmlGpuInstance_t {
    let number = TAG << 56
        | (layout as u64 & 0xffff) << 32
        | u64::from(gi & 0xffff) << 16
        | (device.gpu.index as u64) << 4
        | 8;
    number as usize as nvmlGpuInstance_t
}

/// GPU, layout number and instance id of an instance's handle.
fn decode(instance: nvmlGpuInstance_t) -> Option<(usize, usize, u32)> {
    let number = instance as usize as u64;
    (number >> 56 == TAG).then_some((
        (number >> 4 & 0xff) as usize,
        (number >> 32 & 0xffff) as usize,
        (number >> 16 & 0xffff) as u32,
    ))
}

fn info(profile: &Profile, of: u32) -> nvmlGpuInstanceProfileInfo_t {
    let engines = profile.memory_slices.min(profile.compute_slices);
    nvmlGpuInstanceProfileInfo_t {
        id: profile.id,
        isP2pSupported: 0,
        sliceCount: profile.compute_slices,
        instanceCount: of,
        multiprocessorCount: profile.sm_count,
        copyEngineCount: engines,
        decoderCount: engines,
        encoderCount: 0,
        jpegCount: engines,
        ofaCount: 0,
        memorySizeMB: profile.total_bytes / MIB,
    }
}

fn by_id(device: &Device, id: c_uint) -> Result<&'static Profile, Code> {
    device.gpu.preset.profiles.iter().find(|profile| profile.id == id).ok_or(Code::NOT_SUPPORTED)
}

device_calls! {
    /// Instances of a profile.
    fn nvmlDeviceGetGpuInstances(device, profile: c_uint, target: *mut nvmlGpuInstance_t, count: *mut c_uint) {
        device.whole()?;
        let (number, layout) = device.gpu.layout_at(device.now_us).ok_or(Code::NOT_SUPPORTED)?;
        let found = layout.instances.iter().filter(|instance| instance.profile.id == profile);
        let found: Vec<nvmlGpuInstance_t> = found.map(|instance| encode(device, number, instance.gi)).collect();
        // This call has no room to refuse: the caller gives as much as the profile can have instances.
        let mut room = found.len() as c_uint;
        put_list(&raw mut room, target, found)?;
        put(count, room)
    }

    /// The instance of this id.
    fn nvmlDeviceGetGpuInstanceById(device, gi: c_uint, target: *mut nvmlGpuInstance_t) {
        device.whole()?;
        let (number, layout) = device.gpu.layout_at(device.now_us).ok_or(Code::NOT_SUPPORTED)?;
        layout.instance(gi).ok_or(Code::NOT_FOUND)?;
        put(target, encode(device, number, gi))
    }

    /// Where an instance of a profile may lie.
    fn nvmlDeviceGetGpuInstancePossiblePlacements_v2(
        device,
        profile: c_uint,
        target: *mut nvmlGpuInstancePlacement_t,
        count: *mut c_uint,
    ) {
        device.whole()?;
        let preset = device.gpu.preset;
        let profile = by_id(device, profile)?;
        let size = profile.memory_slices;
        let places: Vec<nvmlGpuInstancePlacement_t> = profile
            .starts(preset.compute_slices, preset.memory_slices)
            .map(|start| nvmlGpuInstancePlacement_t { start, size })
            .collect();
        if target.is_null() {
            return put(count, places.len() as c_uint);
        }
        put_list(count, target, places)
    }

    /// How many more instances of a profile fit beside those that there are.
    fn nvmlDeviceGetGpuInstanceRemainingCapacity(device, profile: c_uint, count: *mut c_uint) {
        device.whole()?;
        let (_, layout) = device.gpu.layout_at(device.now_us).ok_or(Code::NOT_SUPPORTED)?;
        let (preset, profile) = (device.gpu.preset, by_id(device, profile)?);
        let used: u32 = layout.instances.iter().map(|instance| instance.profile.compute_slices).sum();
        let free = |start: &u32| layout.instances.iter().all(|instance| {
            let end = instance.placement + instance.profile.memory_slices;
            start + profile.memory_slices <= instance.placement || end <= *start
        });
        let places = profile.starts(preset.compute_slices, preset.memory_slices).filter(free).count() as u32;
        put(count, places.min((preset.compute_slices - used) / profile.compute_slices))
    }

    /// What an instance of a profile has.
    fn nvmlDeviceGetGpuInstanceProfileInfo(device, kind: c_uint, target: *mut nvmlGpuInstanceProfileInfo_t) {
        device.whole()?;
        let preset = device.gpu.preset;
        let profile = preset.profiles.iter().find(|profile| profile.kind() == kind).ok_or(Code::NOT_SUPPORTED)?;
        let most = profile.most(preset.compute_slices, preset.memory_slices);
        put(target, info(profile, most))
    }
}

/// What an instance is and where it lies.
///
/// # Safety
/// `target` is null or may be written.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpuInstanceGetInfo(
    instance: nvmlGpuInstance_t,
    target: *mut nvmlGpuInstanceInfo_t,
) -> nvmlReturn_t {
    call::on_node(id::nvmlGpuInstanceGetInfo, |node| {
        let (gpu, number, gi) = decode(instance).ok_or(Code::INVALID_ARGUMENT)?;
        let gpu = node.model.gpus.get(gpu).ok_or(Code::INVALID_ARGUMENT)?;
        let (live, layout) = gpu.layout_at(node.now_us).ok_or(Code::INVALID_ARGUMENT)?;
        let found = layout.instance(gi).filter(|_| live == number).ok_or(Code::INVALID_ARGUMENT)?;
        let device = Handle { gpu: gpu.index, mig: None, returns: call::returns(gpu, node.now_us) }.encode();
        let placement =
            nvmlGpuInstancePlacement_t { start: found.placement, size: found.profile.memory_slices };
        // SAFETY: the caller vouches for the pointer.
        unsafe {
            put(target, nvmlGpuInstanceInfo_t { device, id: gi, profileId: found.profile.id, placement })
        }
    })
}
