//! Activity measured by the device itself (GPM, Hopper and newer): a pair of samples gives the mean between them.

use super::call::{Calls, Code, nvml};
use crate::reading::{Field, Gpm};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t};
use schema::wire::Reason;

/// GPM metric numbers of NVIDIA's header: graphics, SM, occupancy, any tensor pipe, DRAM.
const METRICS: [u32; 5] = [1, 2, 3, 5, 10];

/// What a pair measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The whole device, or the MIG device that the handle is of.
    Handle,
    /// A GPU instance of the device that the handle is of.
    GpuInstance(u32),
}

/// Two sample buffers, the newer taken by the tick before.
struct Pair {
    /// GPU instance and, where its compute instances are measured apart, compute instance; none for the whole device.
    key: (Option<u32>, Option<u32>),
    older: nvmlGpmSample_t,
    newer: nvmlGpmSample_t,
    has_sample: bool,
}

/// All pairs of one device. They are freed by [`Pairs::clear`], which needs the library and so can't be a `Drop`.
pub(super) struct Pairs {
    pairs: Vec<Pair>,
    /// 8 KiB that the metrics are read into, kept from tick to tick.
    metrics: Box<nvmlGpmMetricsGet_t>,
}

impl Pairs {
    pub fn new() -> Self {
        // SAFETY: the struct is numbers and pointers, for which all zeros is a value.
        Self { pairs: Vec::new(), metrics: Box::new(unsafe { std::mem::zeroed() }) }
    }

    /// Frees every sample: before the library is let go of, and when MIG changed under them.
    pub fn clear(&mut self, calls: &Calls) {
        for pair in self.pairs.drain(..) {
            for sample in [pair.older, pair.newer] {
                // A failure here means that the driver has gone, and the samples with it.
                let _ = nvml!(calls, nvmlGpmSampleFree(sample));
            }
        }
    }

    fn pair(&mut self, calls: &Calls, key: (Option<u32>, Option<u32>)) -> Result<usize, Code> {
        if let Some(at) = self.pairs.iter().position(|pair| pair.key == key) {
            return Ok(at);
        }
        let (mut older, mut newer): (nvmlGpmSample_t, nvmlGpmSample_t) =
            (std::ptr::null_mut(), std::ptr::null_mut());
        nvml!(calls, nvmlGpmSampleAlloc(&mut older))?;
        if let Err(code) = nvml!(calls, nvmlGpmSampleAlloc(&mut newer)) {
            let _ = nvml!(calls, nvmlGpmSampleFree(older));
            return Err(code);
        }
        self.pairs.push(Pair { key, older, newer, has_sample: false });
        Ok(self.pairs.len() - 1)
    }

    /// Activity since the previous call with the same key; the first has nothing to compare with.
    pub fn read(
        &mut self,
        calls: &Calls,
        handle: nvmlDevice_t,
        target: Target,
        compute_instance: Option<u32>,
    ) -> Field<Gpm> {
        let gpu_instance = match target {
            Target::Handle => None,
            Target::GpuInstance(id) => Some(id),
        };
        let at = self.pair(calls, (gpu_instance, compute_instance)).map_err(Code::reason)?;
        let pair = &mut self.pairs[at];
        std::mem::swap(&mut pair.older, &mut pair.newer);
        let had_sample = pair.has_sample;
        pair.has_sample = false;
        match target {
            Target::Handle => nvml!(calls, nvmlGpmSampleGet(handle, pair.newer)),
            Target::GpuInstance(id) => nvml!(calls, nvmlGpmMigSampleGet(handle, id, pair.newer)),
        }
        .map_err(Code::reason)?;
        pair.has_sample = true;
        if !had_sample {
            return Err(Reason::FirstSample);
        }
        let (sample1, sample2) = (pair.older, pair.newer);
        self.compare(calls, sample1, sample2)
    }

    fn compare(&mut self, calls: &Calls, sample1: nvmlGpmSample_t, sample2: nvmlGpmSample_t) -> Field<Gpm> {
        let get = &mut *self.metrics;
        (get.version, get.numMetrics) = (1, u32::try_from(METRICS.len()).expect("five"));
        (get.sample1, get.sample2) = (sample1, sample2);
        for (metric, id) in get.metrics.iter_mut().zip(METRICS) {
            (metric.metricId, metric.nvmlReturn, metric.value) = (id, 999, f64::NAN);
        }
        nvml!(calls, nvmlGpmMetricsGet(get)).map_err(Code::reason)?;
        let mut stats = calls.stats.borrow_mut();
        let mut ratio = |at: usize| {
            let metric = &get.metrics[at];
            if metric.nvmlReturn != 0 {
                return None;
            }
            if metric.value.is_nan() {
                stats.not_a_number += 1;
                return None;
            }
            if metric.value > 100.0 {
                stats.clamped += 1;
            }
            Some((metric.value / 100.0).clamp(0.0, 1.0))
        };
        let (graphics, sm, occupancy, tensor, dram) = (ratio(0), ratio(1), ratio(2), ratio(3), ratio(4));
        Ok(Gpm { sm: sm.ok_or(Reason::NvmlError)?, occupancy, tensor, dram, graphics })
    }
}
