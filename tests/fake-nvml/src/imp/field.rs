//! Field values: energy, power, memory temperature, and the byte counters of PCIe and NVLink.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::c_int;

use nvml_wrapper_sys::bindings::{nvmlFieldValue_t, nvmlValue_t, nvmlValueType_t};

use super::health::celsius;
use crate::call::{Code, Device, device_calls};
use crate::model::FULL;

const UNSIGNED_INT: nvmlValueType_t = 1;
const UNSIGNED_LONG_LONG: nvmlValueType_t = 3;

/// Bytes that a GPU sends over PCIe in a second when busy all the time.
const PCIE_BYTES_PER_S: u128 = 4_000_000_000;
/// KiB that it sends over NVLink.
const NVLINK_KIB_PER_S: u128 = 100_000_000;

/// A counter that grows by `per_s` in a busy second, since the driver was loaded.
fn counter(device: &Device, per_s: u128) -> u64 {
    let busy = device.gpu.busy.integral(device.model.loaded_us(device.now_us), device.now_us);
    (busy * per_s / (u128::from(FULL) * 1_000_000)) as u64
}

fn value(device: &Device, field: u32) -> Result<(nvmlValueType_t, nvmlValue_t), Code> {
    let int = |value: u32| Ok((UNSIGNED_INT, nvmlValue_t { uiVal: value }));
    let long = |value: u64| Ok((UNSIGNED_LONG_LONG, nvmlValue_t { ullVal: value }));
    let has_nvlink = device.gpu.preset.compute_slices == 7;
    match field {
        82 => int(celsius(device) + 5),
        83 if device.gpu.preset.has_energy() => {
            long(device.model.energy_counter_mj(device.gpu.index, device.now_us))
        }
        138 | 139 if has_nvlink => long(counter(device, NVLINK_KIB_PER_S)),
        185 | 186 => int(device.gpu.power_mw(device.now_us) as u32),
        197 => long(counter(device, PCIE_BYTES_PER_S)),
        198 => long(counter(device, PCIE_BYTES_PER_S / 2)),
        _ => Err(Code::NOT_SUPPORTED),
    }
}

device_calls! {
    /// Each field's value, or why it has none.
    fn nvmlDeviceGetFieldValues(device, count: c_int, values: *mut nvmlFieldValue_t) {
        device.whole()?;
        if values.is_null() || count < 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        for index in 0..count as usize {
            let asked = &mut *values.add(index);
            asked.timestamp = device.now_us;
            asked.latencyUsec = 0;
            match value(device, asked.fieldId) {
                Ok((kind, value)) => {
                    asked.valueType = kind;
                    asked.value = value;
                    asked.nvmlReturn = 0;
                }
                Err(code) => asked.nvmlReturn = code.0,
            }
        }
        Ok(())
    }
}
