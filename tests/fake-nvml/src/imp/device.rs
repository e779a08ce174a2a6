//! What a device is: names, ids, its place on the bus, its modes.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlBrandType_t, nvmlComputeMode_t, nvmlDeviceArchitecture_t, nvmlEnableState_t, nvmlPciInfo_t,
};

use crate::call::{Device, device_calls, put, put_text};
use crate::model::hash;
use crate::scenario::Mode;

/// `NVML_BRAND_NVIDIA`.
const BRAND_NVIDIA: nvmlBrandType_t = 14;
/// `NVML_COMPUTEMODE_DEFAULT` and `NVML_COMPUTEMODE_EXCLUSIVE_PROCESS`.
const COMPUTE_DEFAULT: nvmlComputeMode_t = 0;
const COMPUTE_EXCLUSIVE_PROCESS: nvmlComputeMode_t = 3;
const ON: nvmlEnableState_t = 1;
const OFF: nvmlEnableState_t = 0;

/// The bus of a GPU: every GPU has one of its own.
fn bus(gpu: usize) -> u32 {
    gpu as u32 + 1
}

/// A GPU's place on the PCI bus, with the domain in eight digits.
pub(super) fn bus_id(gpu: usize) -> String {
    format!("00000000:{:02X}:00.0", bus(gpu))
}

fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut chars = [0; N];
    for (to, from) in chars.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    chars
}

fn pci(device: &Device) -> nvmlPciInfo_t {
    let (device_id, subsystem_id) = device.gpu.preset.pci_ids;
    let bus_id = bus_id(device.gpu.index);
    nvmlPciInfo_t {
        busIdLegacy: chars(&bus_id[4..]),
        domain: 0,
        bus: bus(device.gpu.index),
        device: 0,
        pciDeviceId: device_id,
        pciSubSystemId: subsystem_id,
        busId: chars(&bus_id),
    }
}

device_calls! {
    /// The product, and the profile of a MIG device.
    fn nvmlDeviceGetName(device, name: *mut c_char, length: c_uint) {
        let product = device.gpu.preset.name;
        match device.mig {
            Some((_, mig)) => put_text(name, length, &format!("{product} MIG {}", mig.profile_name)),
            None => put_text(name, length, product),
        }
    }

    /// The UUID.
    fn nvmlDeviceGetUUID(device, uuid: *mut c_char, length: c_uint) {
        put_text(uuid, length, device.mig.map_or(&device.gpu.uuid, |(_, mig)| &mig.uuid))
    }

    /// The index: among the node's GPUs, or among the GPU's MIG devices.
    fn nvmlDeviceGetIndex(device, index: *mut c_uint) {
        put(index, device.mig.map_or(device.gpu.index as c_uint, |(_, mig)| mig.slot))
    }

    /// The `N` of `/dev/nvidiaN`.
    fn nvmlDeviceGetMinorNumber(device, minor: *mut c_uint) {
        device.whole()?;
        put(minor, device.gpu.index as c_uint)
    }

    /// The board's serial number.
    fn nvmlDeviceGetSerial(device, serial: *mut c_char, length: c_uint) {
        device.whole()?;
        put_text(serial, length, &format!("165{:010}", hash(&["serial", &device.gpu.uuid]) % 10_000_000_000))
    }

    /// The board's number.
    fn nvmlDeviceGetBoardId(device, board_id: *mut c_uint) {
        device.whole()?;
        put(board_id, bus(device.gpu.index) << 8)
    }

    /// One GPU to a board.
    fn nvmlDeviceGetMultiGpuBoard(device, several: *mut c_uint) {
        device.whole()?;
        put(several, 0)
    }

    /// Place on the PCI bus.
    fn nvmlDeviceGetPciInfo_v3(device, info: *mut nvmlPciInfo_t) {
        device.whole()?;
        put(info, pci(device))
    }

    /// Place on the PCI bus, by an earlier name.
    fn nvmlDeviceGetPciInfo_v2(device, info: *mut nvmlPciInfo_t) {
        device.whole()?;
        put(info, pci(device))
    }

    /// The brand.
    fn nvmlDeviceGetBrand(device, brand: *mut nvmlBrandType_t) {
        put(brand, BRAND_NVIDIA)
    }

    /// The architecture.
    fn nvmlDeviceGetArchitecture(device, architecture: *mut nvmlDeviceArchitecture_t) {
        put(architecture, device.gpu.preset.architecture)
    }

    /// CUDA compute capability.
    fn nvmlDeviceGetCudaComputeCapability(device, major: *mut c_int, minor: *mut c_int) {
        let capability = device.gpu.preset.compute_capability;
        put(major, capability.0)?;
        put(minor, capability.1)
    }

    /// CUDA cores: 128 to a multiprocessor, which is right from Ada and Hopper on and near enough before.
    fn nvmlDeviceGetNumGpuCores(device, cores: *mut c_uint) {
        device.whole()?;
        put(cores, device.gpu.preset.sm_count * 128)
    }

    /// Version of the firmware that starts the board.
    fn nvmlDeviceGetVbiosVersion(device, version: *mut c_char, length: c_uint) {
        device.whole()?;
        put_text(version, length, "96.00.A5.00.01")
    }

    /// Persistence mode is on.
    fn nvmlDeviceGetPersistenceMode(device, mode: *mut nvmlEnableState_t) {
        put(mode, ON)
    }

    /// Default, or one process at a time where an MPS server is that process.
    fn nvmlDeviceGetComputeMode(device, mode: *mut nvmlComputeMode_t) {
        let exclusive = device.model.scenario.gpus[device.gpu.index].mode == Mode::Mps;
        put(mode, if exclusive { COMPUTE_EXCLUSIVE_PROCESS } else { COMPUTE_DEFAULT })
    }

    /// No display is attached.
    fn nvmlDeviceGetDisplayMode(device, mode: *mut nvmlEnableState_t) {
        device.whole()?;
        put(mode, OFF)
    }

    /// No display is active.
    fn nvmlDeviceGetDisplayActive(device, active: *mut nvmlEnableState_t) {
        device.whole()?;
        put(active, OFF)
    }
}
