//! What a device is: read once per driver session.

use super::call::{Calls, Code, nvml, text};
use crate::reading::{Field, Identity, Memory};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmSupport_t, nvmlGpuInstanceProfileInfo_t, nvmlMemory_t, nvmlMemory_v2_t,
    nvmlPciInfo_t,
};

/// `NVML_DEVICE_UUID_V2_BUFFER_SIZE` and the name buffer's size in NVIDIA's header.
const TEXT_LEN: u32 = 96;

pub(super) fn uuid(calls: &Calls, handle: nvmlDevice_t) -> Result<String, Code> {
    let mut buffer = [0; TEXT_LEN as usize];
    nvml!(calls, nvmlDeviceGetUUID(handle, buffer.as_mut_ptr(), TEXT_LEN))?;
    Ok(text(&buffer))
}

pub(super) fn name(calls: &Calls, handle: nvmlDevice_t) -> Result<String, Code> {
    let mut buffer = [0; TEXT_LEN as usize];
    nvml!(calls, nvmlDeviceGetName(handle, buffer.as_mut_ptr(), TEXT_LEN))?;
    Ok(text(&buffer))
}

/// Driver version; empty where NVML doesn't say.
pub(super) fn driver_version(calls: &Calls) -> String {
    let mut buffer = [0; TEXT_LEN as usize];
    match nvml!(calls, nvmlSystemGetDriverVersion(buffer.as_mut_ptr(), TEXT_LEN)) {
        Ok(()) => text(&buffer),
        Err(_) => String::new(),
    }
}

/// Memory, by the newer call or, before driver 510, the older, whose `used` holds what is reserved.
pub(super) fn memory(calls: &Calls, handle: nvmlDevice_t) -> Result<Memory, Code> {
    let version = u32::try_from(size_of::<nvmlMemory_v2_t>()).expect("40 bytes") | 2 << 24;
    let mut v2 = nvmlMemory_v2_t { version, total: 0, reserved: 0, free: 0, used: 0 };
    match nvml!(calls, nvmlDeviceGetMemoryInfo_v2(handle, &mut v2)) {
        Ok(()) => Ok(Memory {
            total_bytes: v2.total,
            reserved_bytes: v2.reserved,
            free_bytes: v2.free,
            used_bytes: v2.used,
        }),
        Err(Code::FUNCTION_NOT_FOUND) => {
            let mut v1 = nvmlMemory_t { total: 0, free: 0, used: 0 };
            nvml!(calls, nvmlDeviceGetMemoryInfo(handle, &mut v1))?;
            Ok(Memory { total_bytes: v1.total, reserved_bytes: 0, free_bytes: v1.free, used_bytes: v1.used })
        }
        Err(code) => Err(code),
    }
}

/// Whether MIG is on; an error means that the device can't do MIG or didn't say.
pub(super) fn mig_mode(calls: &Calls, handle: nvmlDevice_t) -> Result<bool, Code> {
    let (mut current, mut pending) = (0, 0);
    nvml!(calls, nvmlDeviceGetMigMode(handle, &mut current, &mut pending))?;
    Ok(current == 1)
}

fn profile_slices(calls: &Calls, handle: nvmlDevice_t, profile: u32) -> Option<u32> {
    // SAFETY: the struct is integers only, for which all zeros is a value.
    let mut info: nvmlGpuInstanceProfileInfo_t = unsafe { std::mem::zeroed() };
    nvml!(calls, nvmlDeviceGetGpuInstanceProfileInfo(handle, profile, &mut info)).ok()?;
    Some(info.sliceCount).filter(|slices| *slices > 0)
}

/// Compute slices of the whole device: those of its largest profile, from NVML where it says.
fn mig_slices(calls: &Calls, handle: nvmlDevice_t, model: &str) -> u32 {
    /// NVML's numbers of the profiles with 7 and with 4 slices.
    const WHOLE_PROFILES: [u32; 2] = [4, 3];
    WHOLE_PROFILES
        .iter()
        .find_map(|profile| profile_slices(calls, handle, *profile))
        .unwrap_or(if model.contains("A30") { 4 } else { 7 })
}

fn gpm_supported(calls: &Calls, handle: nvmlDevice_t) -> bool {
    let lib = calls.lib();
    let complete = lib.nvmlGpmSampleAlloc.is_ok()
        && lib.nvmlGpmSampleFree.is_ok()
        && lib.nvmlGpmSampleGet.is_ok()
        && lib.nvmlGpmMigSampleGet.is_ok()
        && lib.nvmlGpmMetricsGet.is_ok();
    let mut support = nvmlGpmSupport_t { version: 1, isSupportedDevice: 0 };
    complete
        && nvml!(calls, nvmlGpmQueryDeviceSupport(handle, &mut support)).is_ok()
        && support.isSupportedDevice == 1
}

/// Everything that holds as long as the driver stays loaded.
pub(super) fn read(calls: &Calls, handle: nvmlDevice_t, index: u32, driver_version: &str) -> Field<Identity> {
    let uuid = uuid(calls, handle).map_err(Code::reason)?;
    let model = name(calls, handle).map_err(Code::reason)?;
    // SAFETY: the struct is integers only, for which all zeros is a value.
    let mut pci: nvmlPciInfo_t = unsafe { std::mem::zeroed() };
    let pci_bus_id = nvml!(calls, nvmlDeviceGetPciInfo_v3(handle, &mut pci))
        .map(|()| text(&pci.busId))
        .unwrap_or_default();
    let mut minor = 0;
    let minor = nvml!(calls, nvmlDeviceGetMinorNumber(handle, &mut minor)).ok().map(|()| minor);
    let mig_slices = mig_mode(calls, handle).ok().map(|_| mig_slices(calls, handle, &model));
    Ok(Identity {
        memory_total_bytes: memory(calls, handle).ok().map(|m| m.total_bytes),
        gpm: gpm_supported(calls, handle),
        driver_version: driver_version.to_owned(),
        uuid,
        model,
        index,
        minor,
        pci_bus_id,
        mig_slices,
    })
}
