//! MIG: the mode, MIG devices by slot, and what a MIG device is.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t};

use crate::call::{Answer, Code, Device, device_calls, put};
use crate::handle::Handle;
use crate::model::{MIB, MigDeviceModel};
use crate::presets::Profile;

/// Refuses products without MIG.
fn has_mig(device: &Device) -> Answer {
    if device.gpu.preset.compute_slices == 0 { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}

fn attributes(profile: &Profile, mig: &MigDeviceModel) -> nvmlDeviceAttributes_t {
    let engines = profile.memory_slices.min(profile.compute_slices);
    nvmlDeviceAttributes_t {
        multiprocessorCount: mig.sm_count,
        sharedCopyEngineCount: engines,
        sharedDecoderCount: engines,
        sharedEncoderCount: 0,
        sharedJpegCount: engines,
        sharedOfaCount: 0,
        gpuInstanceSliceCount: profile.compute_slices,
        computeInstanceSliceCount: mig.slices,
        memorySizeMB: profile.total_bytes / MIB,
    }
}

device_calls! {
    /// Whether MIG is on, now and after a reset.
    fn nvmlDeviceGetMigMode(device, current: *mut c_uint, pending: *mut c_uint) {
        device.whole()?;
        has_mig(device)?;
        let mode = c_uint::from(device.is_mig_enabled());
        put(current, mode)?;
        put(pending, mode)
    }

    /// The most MIG devices that the GPU can have; none while MIG is off.
    fn nvmlDeviceGetMaxMigDeviceCount(device, count: *mut c_uint) {
        device.whole()?;
        put(count, if device.is_mig_enabled() { device.gpu.preset.max_mig_devices() } else { 0 })
    }

    /// The MIG device in a slot; an empty slot is NOT_FOUND, whatever the slots after it hold.
    fn nvmlDeviceGetMigDeviceHandleByIndex(device, slot: c_uint, target: *mut nvmlDevice_t) {
        device.whole()?;
        has_mig(device)?;
        if slot >= device.gpu.preset.max_mig_devices() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let (number, layout) = device.gpu.layout_at(device.now_us).ok_or(Code::NOT_FOUND)?;
        layout.device(slot).ok_or(Code::NOT_FOUND)?;
        put(target, Handle { mig: Some((number, slot)), ..device.handle }.encode())
    }

    /// The GPU of a MIG device.
    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, target: *mut nvmlDevice_t) {
        if device.mig.is_none() {
            return Err(Code::INVALID_ARGUMENT);
        }
        put(target, Handle { mig: None, ..device.handle }.encode())
    }

    /// Whether a handle is a MIG device's.
    fn nvmlDeviceIsMigDeviceHandle(device, is_mig: *mut c_uint) {
        put(is_mig, c_uint::from(device.mig.is_some()))
    }

    /// Id of a MIG device's GPU instance.
    fn nvmlDeviceGetGpuInstanceId(device, id: *mut c_uint) {
        let (instance, _) = device.mig.ok_or(Code::NOT_SUPPORTED)?;
        put(id, instance.gi)
    }

    /// Id of a MIG device's compute instance.
    fn nvmlDeviceGetComputeInstanceId(device, id: *mut c_uint) {
        let (_, mig) = device.mig.ok_or(Code::NOT_SUPPORTED)?;
        put(id, mig.ci)
    }

    /// What a MIG device has.
    fn nvmlDeviceGetAttributes_v2(device, target: *mut nvmlDeviceAttributes_t) {
        let (instance, mig) = device.mig.ok_or(Code::NOT_SUPPORTED)?;
        put(target, attributes(instance.profile, mig))
    }

    /// What a MIG device has, by its first name.
    fn nvmlDeviceGetAttributes(device, target: *mut nvmlDeviceAttributes_t) {
        let (instance, mig) = device.mig.ok_or(Code::NOT_SUPPORTED)?;
        put(target, attributes(instance.profile, mig))
    }
}
