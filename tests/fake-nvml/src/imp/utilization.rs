//! Utilisation of a whole GPU. Under MIG there is none.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlSample_t, nvmlSamplingType_t, nvmlUtilization_t, nvmlValue_t, nvmlValueType_t,
};

use super::sampled::{Window, memory_percent};
use crate::call::{Answer, Code, Device, device_calls, put, put_list};
use crate::model::hash;

/// `NVML_TOTAL_POWER_SAMPLES`, `NVML_GPU_UTILIZATION_SAMPLES` and `NVML_MEMORY_UTILIZATION_SAMPLES`.
const POWER: nvmlSamplingType_t = 0;
const GPU: nvmlSamplingType_t = 1;
const MEMORY: nvmlSamplingType_t = 2;

/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
pub(super) const UNSIGNED_INT: nvmlValueType_t = 1;

fn whole_only(device: &Device) -> Answer {
    device.whole()?;
    device.not_cut()
}

/// Utilisation of the last sample period.
fn last_percent(device: &Device) -> u32 {
    Window::last(device.model, device.now_us).percent(&device.gpu.busy, phase(device))
}

fn phase(device: &Device) -> u64 {
    hash(&[&device.model.scenario.seed.to_string(), &device.gpu.uuid])
}

device_calls! {
    /// Utilisation of the last sample period, in percent.
    fn nvmlDeviceGetUtilizationRates(device, utilization: *mut nvmlUtilization_t) {
        whole_only(device)?;
        let gpu = last_percent(device);
        put(utilization, nvmlUtilization_t { gpu, memory: memory_percent(gpu) })
    }

    /// Encoder utilisation: the simulation has none.
    fn nvmlDeviceGetEncoderUtilization(device, percent: *mut c_uint, period_us: *mut c_uint) {
        whole_only(device)?;
        put(percent, 0)?;
        put(period_us, device.model.period_us as c_uint)
    }

    /// Decoder utilisation: the simulation has none.
    fn nvmlDeviceGetDecoderUtilization(device, percent: *mut c_uint, period_us: *mut c_uint) {
        whole_only(device)?;
        put(percent, 0)?;
        put(period_us, device.model.period_us as c_uint)
    }

    /// JPEG engine utilisation: the simulation has none.
    fn nvmlDeviceGetJpgUtilization(device, percent: *mut c_uint, period_us: *mut c_uint) {
        whole_only(device)?;
        put(percent, 0)?;
        put(period_us, device.model.period_us as c_uint)
    }

    /// Optical-flow engine utilisation: the simulation has none.
    fn nvmlDeviceGetOfaUtilization(device, percent: *mut c_uint, period_us: *mut c_uint) {
        whole_only(device)?;
        put(percent, 0)?;
        put(period_us, device.model.period_us as c_uint)
    }

    /// Samples newer than the caller's last, one for each sample period. Power is sampled under MIG too.
    fn nvmlDeviceGetSamples(
        device,
        kind: nvmlSamplingType_t,
        last_seen_us: c_ulonglong,
        value_type: *mut nvmlValueType_t,
        count: *mut c_uint,
        samples: *mut nvmlSample_t,
    ) {
        device.whole()?;
        match kind {
            POWER => {}
            GPU | MEMORY => device.not_cut()?,
            _ => return Err(Code::NOT_SUPPORTED),
        }
        let window = Window::newer_than(device.model, device.now_us, last_seen_us).ok_or(Code::NOT_FOUND)?;
        let period_us = device.model.period_us;
        let periods = (window.to_us - window.from_us) / period_us;
        let found = (1..=periods).map(|number| {
            let to_us = window.from_us + number * period_us;
            let period = Window { from_us: to_us - period_us, to_us };
            let value = match kind {
                POWER => device.gpu.power_mw(to_us) as c_uint,
                GPU => period.percent(&device.gpu.busy, phase(device)),
                _ => memory_percent(period.percent(&device.gpu.busy, phase(device))),
            };
            nvmlSample_t { timeStamp: period.timestamp_us(), sampleValue: nvmlValue_t { uiVal: value } }
        });
        let found: Vec<nvmlSample_t> = found.collect();
        put(value_type, UNSIGNED_INT)?;
        if samples.is_null() {
            return put(count, found.len() as c_uint);
        }
        put_list(count, samples, found)
    }
}
