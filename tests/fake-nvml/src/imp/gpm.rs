//! GPM: two samples of what a device counted, and the exact means between them. Hopper and newer; per GPU, GPU instance
//! and compute instance.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{CStr, c_uint};
use std::ptr;
use std::sync::Arc;

use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t, nvmlReturn_t};

use crate::call::{self, Answer, Code, Device, device_calls, put};
use crate::model::{FULL, Model};
use crate::names::id;
use crate::series::Steps;
use crate::state;

/// `version` of the metrics struct and of the support struct: a bare number, not a size.
const VERSION: c_uint = 1;

/// What a sample is of: layout number, GPU instance and compute instance, or the whole GPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Whole,
    Instance(usize, u32),
    Compute(usize, u32, u32),
}

/// What a caller's `nvmlGpmSample_t` points to.
#[derive(Default)]
struct Sample {
    taken: Option<Taken>,
}

struct Taken {
    model: Arc<Model>,
    at_us: i64,
    gpu: usize,
    target: Target,
}

impl Taken {
    fn busy(&self) -> Option<&Steps> {
        let gpu = &self.model.gpus[self.gpu];
        match self.target {
            Target::Whole => Some(&gpu.busy),
            Target::Instance(layout, gi) => Some(&gpu.layouts.get(layout)?.instance(gi)?.busy),
            Target::Compute(layout, gi, ci) => {
                let instance = gpu.layouts.get(layout)?.instance(gi)?;
                Some(&instance.devices.iter().find(|device| device.ci == ci)?.busy)
            }
        }
    }
}

/// # Safety
/// `sample` is null or a live one of [`nvmlGpmSampleAlloc`].
unsafe fn take(device: &Device, sample: nvmlGpmSample_t, target: Target) -> Answer {
    if !device.gpu.preset.has_gpm() {
        return Err(Code::NOT_SUPPORTED);
    }
    // SAFETY: the caller vouches for the pointer, and NVML samples aren't shared between threads.
    let sample = unsafe { sample.cast::<Sample>().as_mut() }.ok_or(Code::INVALID_ARGUMENT)?;
    let model = state::loaded().ok_or(Code::UNINITIALIZED)?;
    sample.taken = Some(Taken { model, at_us: device.now_us, gpu: device.gpu.index, target });
    Ok(())
}

device_calls! {
    /// Whether GPM exists here.
    fn nvmlGpmQueryDeviceSupport(device, support: *mut nvmlGpmSupport_t) {
        let asked = support.as_ref().ok_or(Code::INVALID_ARGUMENT)?.version;
        if asked != VERSION {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        put(support, nvmlGpmSupport_t { version: asked, isSupportedDevice: c_uint::from(device.gpu.preset.has_gpm()) })
    }

    /// Samples a GPU, or the compute instance of a MIG device.
    fn nvmlGpmSampleGet(device, sample: nvmlGpmSample_t) {
        let target = match (device.mig, device.handle.mig) {
            (Some((instance, mig)), Some((layout, _))) => Target::Compute(layout, instance.gi, mig.ci),
            _ => Target::Whole,
        };
        take(device, sample, target)
    }

    /// Samples a GPU instance, through its GPU.
    fn nvmlGpmMigSampleGet(device, gi: c_uint, sample: nvmlGpmSample_t) {
        device.whole()?;
        let (layout, live) = device.gpu.layout_at(device.now_us).ok_or(Code::NOT_SUPPORTED)?;
        live.instance(gi).ok_or(Code::INVALID_ARGUMENT)?;
        take(device, sample, Target::Instance(layout, gi))
    }
}

/// Makes room for a sample.
///
/// # Safety
/// `sample` is null or may be written.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleAlloc(sample: *mut nvmlGpmSample_t) -> nvmlReturn_t {
    call::on_node(id::nvmlGpmSampleAlloc, |_| {
        if sample.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: it isn't null, and the caller vouches for the rest.
        unsafe { put(sample, Box::into_raw(Box::<Sample>::default()).cast()) }
    })
}

/// Gives a sample's room back.
///
/// # Safety
/// `sample` is null or one of [`nvmlGpmSampleAlloc`] that wasn't given back yet.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> nvmlReturn_t {
    call::on_library(id::nvmlGpmSampleFree, || {
        if sample.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: it came from a box, and the caller vouches that it still is one.
        drop(unsafe { Box::from_raw(sample.cast::<Sample>()) });
        Ok(())
    })
}

/// Means between two samples. Later headers have a longer array, so only as many metrics as were asked for are touched.
///
/// # Safety
/// `request` is null or points to a request with `numMetrics` metrics and two samples of [`nvmlGpmSampleAlloc`].
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t {
    call::on_node(id::nvmlGpmMetricsGet, |_| {
        if request.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: it isn't null; the fields are read one by one because the array's length isn't the caller's promise.
        let (version, count, first, second) =
            unsafe { ((*request).version, (*request).numMetrics, (*request).sample1, (*request).sample2) };
        if version != VERSION {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        // SAFETY: the caller vouches for the samples.
        let (first, second) = unsafe { (first.cast::<Sample>().as_ref(), second.cast::<Sample>().as_ref()) };
        let (Some(Some(first)), Some(Some(second))) =
            (first.map(|s| s.taken.as_ref()), second.map(|s| s.taken.as_ref()))
        else {
            return Err(Code::INVALID_ARGUMENT);
        };
        if (first.gpu, first.target) != (second.gpu, second.target)
            || second.at_us <= first.at_us
            || !Arc::ptr_eq(&first.model, &second.model)
        {
            return Err(Code::INVALID_ARGUMENT);
        }
        let busy = second.busy().ok_or(Code::INVALID_ARGUMENT)?;
        let length_us = second.at_us.abs_diff(first.at_us);
        let mean = busy.integral(first.at_us, second.at_us) as f64 / length_us as f64 / FULL as f64;
        // SAFETY: the array begins in the caller's struct.
        let metrics = unsafe { ptr::addr_of_mut!((*request).metrics) }
            .cast::<nvml_wrapper_sys::bindings::nvmlGpmMetric_t>();
        for index in 0..count as usize {
            // SAFETY: the caller vouches for as many metrics as it asks for.
            let metric = unsafe { &mut *metrics.add(index) };
            let found = METRICS.iter().find(|known| known.id == metric.metricId);
            metric.nvmlReturn = if found.is_some() { 0 } else { Code::NOT_SUPPORTED.0 };
            let Some(found) = found else { continue };
            metric.value = mean * found.when_busy;
            metric.metricInfo.shortName = found.name.as_ptr().cast_mut();
            metric.metricInfo.longName = found.name.as_ptr().cast_mut();
            metric.metricInfo.unit = found.unit.as_ptr().cast_mut();
        }
        Ok(())
    })
}

/// A metric: its value when busy all the time; in between it is in proportion.
struct Metric {
    id: c_uint,
    name: &'static CStr,
    unit: &'static CStr,
    when_busy: f64,
}

const fn metric(id: c_uint, name: &'static CStr, unit: &'static CStr, when_busy: f64) -> Metric {
    Metric { id, name, unit, when_busy }
}

const METRICS: &[Metric] = &[
    metric(1, c"GRAPHICS_UTIL", c"%", 100.0),
    metric(2, c"SM_UTIL", c"%", 100.0),
    metric(3, c"SM_OCCUPANCY", c"%", 50.0),
    metric(4, c"INTEGER_UTIL", c"%", 10.0),
    metric(5, c"ANY_TENSOR_UTIL", c"%", 60.0),
    metric(7, c"HMMA_TENSOR_UTIL", c"%", 60.0),
    metric(10, c"DRAM_BW_UTIL", c"%", 50.0),
    metric(12, c"FP32_UTIL", c"%", 20.0),
    metric(13, c"FP16_UTIL", c"%", 10.0),
    metric(20, c"PCIE_TX_PER_SEC", c"MiB/s", 4000.0),
    metric(21, c"PCIE_RX_PER_SEC", c"MiB/s", 2000.0),
    metric(60, c"NVLINK_TOTAL_RX_PER_SEC", c"MiB/s", 100_000.0),
    metric(61, c"NVLINK_TOTAL_TX_PER_SEC", c"MiB/s", 100_000.0),
];
