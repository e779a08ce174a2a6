//! Memory of a GPU, and of a GPU instance through each of its MIG devices (the same figure through each).
#![allow(non_snake_case, reason = "they are NVML's names")]

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlConfComputeMemSizeInfo_t, nvmlMemory_t, nvmlMemory_v2_t,
};

use crate::call::{Code, Device, check_version, device_calls, put};
use crate::model::MemoryNow;

/// Memory of what a handle stands for.
fn memory(device: &Device) -> MemoryNow {
    match device.mig {
        Some((instance, _)) => MemoryNow {
            total: instance.profile.total_bytes,
            reserved: 0,
            used: device.gpu.instance_used_bytes(instance, device.now_us),
        },
        None => MemoryNow {
            total: device.gpu.preset.total_bytes,
            reserved: device.gpu.preset.reserved_bytes,
            used: device.gpu.used_bytes(device.now_us),
        },
    }
}

device_calls! {
    /// Memory, version 1: what is used includes what the driver keeps.
    fn nvmlDeviceGetMemoryInfo(device, info: *mut nvmlMemory_t) {
        let memory = memory(device);
        put(info, nvmlMemory_t { total: memory.total, free: memory.free(), used: memory.used + memory.reserved })
    }

    /// Memory, version 2: what the driver keeps is apart.
    fn nvmlDeviceGetMemoryInfo_v2(device, info: *mut nvmlMemory_v2_t) {
        let version = info.as_ref().ok_or(Code::INVALID_ARGUMENT)?.version;
        check_version::<nvmlMemory_v2_t>(version, 2)?;
        let memory = memory(device);
        put(info, nvmlMemory_v2_t {
            version,
            total: memory.total,
            reserved: memory.reserved,
            free: memory.free(),
            used: memory.used,
        })
    }

    /// The window through which the host sees the memory.
    fn nvmlDeviceGetBAR1MemoryInfo(device, info: *mut nvmlBAR1Memory_t) {
        let total = memory(device).total.next_power_of_two();
        let used = crate::model::MIB;
        put(info, nvmlBAR1Memory_t { bar1Total: total, bar1Free: total - used, bar1Used: used })
    }

    /// Memory by protection: none is protected. It also tells a 535 driver from later ones, so it always answers.
    fn nvmlDeviceGetConfComputeMemSizeInfo(device, info: *mut nvmlConfComputeMemSizeInfo_t) {
        device.whole()?;
        put(info, nvmlConfComputeMemSizeInfo_t {
            protectedMemSizeKib: 0,
            unprotectedMemSizeKib: device.gpu.preset.total_bytes / 1024,
        })
    }
}
