//! How a device is: temperature, clocks, error counters, links.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlClockId_t, nvmlClockType_t, nvmlEccCounterType_t, nvmlEnableState_t, nvmlMemoryErrorType_t,
    nvmlMemoryLocation_t, nvmlPcieUtilCounter_t, nvmlPstates_t, nvmlTemperature_t, nvmlTemperatureSensors_t,
    nvmlTemperatureThresholds_t,
};

use crate::call::{Code, Device, check_version, device_calls, put};
use crate::model::FULL;

/// `NVML_CLOCK_MEM`; the others run with the multiprocessors here.
const MEMORY_CLOCK: nvmlClockType_t = 2;
const CLOCK_KINDS: nvmlClockType_t = 4;
/// Clock of an idle multiprocessor, in MHz.
const IDLE_MHZ: c_uint = 345;
/// Clocks are low because nothing runs.
const REASON_IDLE: c_ulonglong = 1;

/// 30 °C without load, 65 °C when busy all the time.
pub(super) fn celsius(device: &Device) -> c_uint {
    30 + (35 * device.gpu.busy.value_at(device.now_us) / FULL) as c_uint
}

fn is_idle(device: &Device) -> bool {
    device.gpu.busy.value_at(device.now_us) == 0
}

fn clock_mhz(device: &Device, kind: nvmlClockType_t) -> Result<c_uint, Code> {
    let (sm, memory) = device.gpu.preset.clocks_mhz;
    match kind {
        MEMORY_CLOCK => Ok(memory),
        CLOCK_KINDS.. => Err(Code::INVALID_ARGUMENT),
        _ if is_idle(device) => Ok(IDLE_MHZ),
        _ => Ok(sm),
    }
}

fn max_clock_mhz(device: &Device, kind: nvmlClockType_t) -> Result<c_uint, Code> {
    let (sm, memory) = device.gpu.preset.clocks_mhz;
    match kind {
        MEMORY_CLOCK => Ok(memory),
        CLOCK_KINDS.. => Err(Code::INVALID_ARGUMENT),
        _ => Ok(sm),
    }
}

device_calls! {
    /// Temperature, in °C.
    fn nvmlDeviceGetTemperature(device, sensor: nvmlTemperatureSensors_t, temperature: *mut c_uint) {
        device.whole()?;
        if sensor != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        put(temperature, celsius(device))
    }

    /// Temperature, in °C, in a struct with a version.
    fn nvmlDeviceGetTemperatureV(device, temperature: *mut nvmlTemperature_t) {
        device.whole()?;
        let asked = *temperature.as_ref().ok_or(Code::INVALID_ARGUMENT)?;
        check_version::<nvmlTemperature_t>(asked.version, 1)?;
        if asked.sensorType != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        put(temperature, nvmlTemperature_t { temperature: celsius(device) as i32, ..asked })
    }

    /// Temperatures at which something happens: shutdown, slowdown, and memory's.
    fn nvmlDeviceGetTemperatureThreshold(
        device,
        kind: nvmlTemperatureThresholds_t,
        temperature: *mut c_uint,
    ) {
        device.whole()?;
        match kind {
            0 => put(temperature, 95),
            1 => put(temperature, 92),
            2 | 3 => put(temperature, 87),
            _ => Err(Code::NOT_SUPPORTED),
        }
    }

    /// Clock now, in MHz.
    fn nvmlDeviceGetClockInfo(device, kind: nvmlClockType_t, mhz: *mut c_uint) {
        device.whole()?;
        put(mhz, clock_mhz(device, kind)?)
    }

    /// Highest clock, in MHz.
    fn nvmlDeviceGetMaxClockInfo(device, kind: nvmlClockType_t, mhz: *mut c_uint) {
        device.whole()?;
        put(mhz, max_clock_mhz(device, kind)?)
    }

    /// Clock now (0), as applications ask (1, 2) or at most (3), in MHz.
    fn nvmlDeviceGetClock(device, kind: nvmlClockType_t, which: nvmlClockId_t, mhz: *mut c_uint) {
        device.whole()?;
        match which {
            0 => put(mhz, clock_mhz(device, kind)?),
            1..=3 => put(mhz, max_clock_mhz(device, kind)?),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    }

    /// Performance state: always the highest, as a data-centre GPU's is.
    fn nvmlDeviceGetPerformanceState(device, state: *mut nvmlPstates_t) {
        device.whole()?;
        put(state, 0)
    }

    /// Performance state, by its first name.
    fn nvmlDeviceGetPowerState(device, state: *mut nvmlPstates_t) {
        device.whole()?;
        put(state, 0)
    }

    /// Why clocks are low.
    fn nvmlDeviceGetCurrentClocksEventReasons(device, reasons: *mut c_ulonglong) {
        device.whole()?;
        put(reasons, if is_idle(device) { REASON_IDLE } else { 0 })
    }

    /// Why clocks are low, by its first name.
    fn nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons: *mut c_ulonglong) {
        device.whole()?;
        put(reasons, if is_idle(device) { REASON_IDLE } else { 0 })
    }

    /// ECC is on, and stays so.
    fn nvmlDeviceGetEccMode(device, current: *mut nvmlEnableState_t, pending: *mut nvmlEnableState_t) {
        device.whole()?;
        put(current, 1)?;
        put(pending, 1)
    }

    /// ECC is on by default.
    fn nvmlDeviceGetDefaultEccMode(device, mode: *mut nvmlEnableState_t) {
        device.whole()?;
        put(mode, 1)
    }

    /// ECC errors: none.
    fn nvmlDeviceGetTotalEccErrors(
        device,
        _kind: nvmlMemoryErrorType_t,
        _since: nvmlEccCounterType_t,
        count: *mut c_ulonglong,
    ) {
        put(count, 0)
    }

    /// ECC errors of one place: none.
    fn nvmlDeviceGetMemoryErrorCounter(
        device,
        _kind: nvmlMemoryErrorType_t,
        _since: nvmlEccCounterType_t,
        _place: nvmlMemoryLocation_t,
        count: *mut c_ulonglong,
    ) {
        device.whole()?;
        put(count, 0)
    }

    /// Memory rows that were replaced: none. Not known under MIG.
    fn nvmlDeviceGetRemappedRows(
        device,
        correctable: *mut c_uint,
        uncorrectable: *mut c_uint,
        pending: *mut c_uint,
        failed: *mut c_uint,
    ) {
        device.whole()?;
        device.not_cut()?;
        put(correctable, 0)?;
        put(uncorrectable, 0)?;
        put(pending, 0)?;
        put(failed, 0)
    }

    /// PCIe packets sent again: none.
    fn nvmlDeviceGetPcieReplayCounter(device, count: *mut c_uint) {
        device.whole()?;
        put(count, 0)
    }

    /// PCIe throughput, in KB/s: 4 GB/s each way when busy all the time.
    fn nvmlDeviceGetPcieThroughput(device, counter: nvmlPcieUtilCounter_t, kb_per_s: *mut c_uint) {
        device.whole()?;
        if counter > 1 {
            return Err(Code::INVALID_ARGUMENT);
        }
        put(kb_per_s, (4_000_000 * device.gpu.busy.value_at(device.now_us) / FULL) as c_uint)
    }

    /// PCIe generation in use.
    fn nvmlDeviceGetCurrPcieLinkGeneration(device, generation: *mut c_uint) {
        device.whole()?;
        put(generation, if device.gpu.preset.has_gpm() { 5 } else { 4 })
    }

    /// PCIe generation at most.
    fn nvmlDeviceGetMaxPcieLinkGeneration(device, generation: *mut c_uint) {
        device.whole()?;
        put(generation, if device.gpu.preset.has_gpm() { 5 } else { 4 })
    }

    /// PCIe lanes in use.
    fn nvmlDeviceGetCurrPcieLinkWidth(device, lanes: *mut c_uint) {
        device.whole()?;
        put(lanes, 16)
    }

    /// PCIe lanes at most.
    fn nvmlDeviceGetMaxPcieLinkWidth(device, lanes: *mut c_uint) {
        device.whole()?;
        put(lanes, 16)
    }
}
