//! Power and energy. On a MIG device's handle the answer is the scenario's choice: NOT_SUPPORTED or the whole GPU's.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::nvmlEnableState_t;

use crate::call::{Answer, Code, Device, device_calls, put};
use crate::scenario::MigHandlePower;

fn of_gpu(device: &Device) -> Answer {
    match device.model.scenario.mig_handle_power {
        MigHandlePower::Parent => Ok(()),
        MigHandlePower::NotSupported => device.whole(),
    }
}

device_calls! {
    /// Energy since the driver was loaded, in mJ.
    fn nvmlDeviceGetTotalEnergyConsumption(device, energy_mj: *mut c_ulonglong) {
        of_gpu(device)?;
        if !device.gpu.preset.has_energy() {
            return Err(Code::NOT_SUPPORTED);
        }
        put(energy_mj, device.model.energy_counter_mj(device.gpu.index, device.now_us))
    }

    /// Draw now, in mW.
    fn nvmlDeviceGetPowerUsage(device, power_mw: *mut c_uint) {
        of_gpu(device)?;
        put(power_mw, device.gpu.power_mw(device.now_us) as c_uint)
    }

    /// The limit that holds, in mW.
    fn nvmlDeviceGetEnforcedPowerLimit(device, limit_mw: *mut c_uint) {
        of_gpu(device)?;
        put(limit_mw, device.gpu.preset.max_mw as c_uint)
    }

    /// The limit that was asked for, in mW.
    fn nvmlDeviceGetPowerManagementLimit(device, limit_mw: *mut c_uint) {
        of_gpu(device)?;
        put(limit_mw, device.gpu.preset.max_mw as c_uint)
    }

    /// The limit after a reset, in mW.
    fn nvmlDeviceGetPowerManagementDefaultLimit(device, limit_mw: *mut c_uint) {
        of_gpu(device)?;
        put(limit_mw, device.gpu.preset.max_mw as c_uint)
    }

    /// Limits that may be asked for, in mW.
    fn nvmlDeviceGetPowerManagementLimitConstraints(device, min_mw: *mut c_uint, max_mw: *mut c_uint) {
        of_gpu(device)?;
        put(min_mw, device.gpu.preset.max_mw as c_uint * 2 / 7)?;
        put(max_mw, device.gpu.preset.max_mw as c_uint)
    }

    /// Power management is on.
    fn nvmlDeviceGetPowerManagementMode(device, mode: *mut nvmlEnableState_t) {
        device.whole()?;
        put(mode, 1)
    }
}
