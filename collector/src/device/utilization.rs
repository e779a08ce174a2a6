//! Utilisation of a device and of its processes, as samples newer than those of the tick before.

use super::call::{Calls, Code, nvml};
use crate::reading::{BusySample, ProcessSample};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessUtilizationSample_t, nvmlSample_t, nvmlUtilization_t, nvmlValue_t,
};

/// `NVML_GPU_UTILIZATION_SAMPLES`.
const GPU_UTILIZATION: u32 = 1;

/// Buffers are asked again with the size that NVML names; more often than this they aren't within one tick.
const RETRIES_MAX: usize = 3;

/// Per-device buffers and the timestamps up to which samples were taken.
pub(super) struct Samples {
    device: Vec<nvmlSample_t>,
    process: Vec<nvmlProcessUtilizationSample_t>,
    device_seen_us: u64,
    process_seen_us: u64,
}

impl Samples {
    /// `since_us` keeps the first reading from getting the driver's whole ring.
    pub fn new(since_us: u64) -> Self {
        Self { device: Vec::new(), process: Vec::new(), device_seen_us: since_us, process_seen_us: since_us }
    }

    /// Samples of the whole device; none newer is an empty list.
    pub fn device(&mut self, calls: &Calls, handle: nvmlDevice_t) -> Result<Vec<BusySample>, Code> {
        if self.device.is_empty() {
            self.device.resize(128, nvmlSample_t { timeStamp: 0, sampleValue: nvmlValue_t { ullVal: 0 } });
        }
        for _ in 0..=RETRIES_MAX {
            let (mut kind, mut count) =
                (0, u32::try_from(self.device.len()).expect("a ring of samples is short"));
            let samples = self.device.as_mut_ptr();
            match nvml!(
                calls,
                nvmlDeviceGetSamples(
                    handle,
                    GPU_UTILIZATION,
                    self.device_seen_us,
                    &mut kind,
                    &mut count,
                    samples
                )
            ) {
                Ok(()) => return Ok(self.take_device(count as usize)),
                Err(Code::NOT_FOUND) => return Ok(Vec::new()),
                Err(Code::INSUFFICIENT_SIZE) => {
                    let len = (count as usize).max(2 * self.device.len()) + 8;
                    self.device
                        .resize(len, nvmlSample_t { timeStamp: 0, sampleValue: nvmlValue_t { ullVal: 0 } });
                }
                Err(code) => return Err(code),
            }
        }
        Err(Code::INSUFFICIENT_SIZE)
    }

    fn take_device(&mut self, count: usize) -> Vec<BusySample> {
        let seen = self.device_seen_us;
        let mut taken: Vec<BusySample> = self.device[..count.min(self.device.len())]
            .iter()
            .filter(|s| s.timeStamp > seen)
            .map(|s| BusySample {
                at_us: i64::try_from(s.timeStamp).unwrap_or(i64::MAX),
                // SAFETY: utilisation is given as an unsigned int, and every bit pattern of it is one.
                percent: unsafe { s.sampleValue.uiVal },
            })
            .filter(|s| s.percent <= 100)
            .collect();
        taken.sort_unstable_by_key(|s| s.at_us);
        if let Some(last) = taken.last() {
            self.device_seen_us = u64::try_from(last.at_us).unwrap_or(seen);
        }
        taken
    }

    /// Samples of processes with non-zero use; none newer is an empty list. Stale and absurd ones are dropped here;
    /// those of processes that aren't listed are dropped where the list is known.
    pub fn processes(&mut self, calls: &Calls, handle: nvmlDevice_t) -> Result<Vec<ProcessSample>, Code> {
        let empty = nvmlProcessUtilizationSample_t {
            pid: 0,
            timeStamp: 0,
            smUtil: 0,
            memUtil: 0,
            encUtil: 0,
            decUtil: 0,
        };
        if self.process.is_empty() {
            self.process.resize(128, empty);
        }
        for _ in 0..=RETRIES_MAX {
            let mut count = u32::try_from(self.process.len()).expect("a ring of samples is short");
            let samples = self.process.as_mut_ptr();
            match nvml!(
                calls,
                nvmlDeviceGetProcessUtilization(handle, samples, &mut count, self.process_seen_us)
            ) {
                Ok(()) => return Ok(self.take_processes(count as usize)),
                Err(Code::NOT_FOUND) => return Ok(Vec::new()),
                Err(Code::INSUFFICIENT_SIZE) => {
                    let len = (count as usize).max(2 * self.process.len()) + 8;
                    self.process.resize(len, empty);
                }
                Err(code) => return Err(code),
            }
        }
        Err(Code::INSUFFICIENT_SIZE)
    }

    fn take_processes(&mut self, count: usize) -> Vec<ProcessSample> {
        let seen = self.process_seen_us;
        let mut taken: Vec<ProcessSample> = self.process[..count.min(self.process.len())]
            .iter()
            .filter(|s| s.timeStamp > seen && s.smUtil <= 100 && s.pid != 0)
            .map(|s| ProcessSample {
                pid: s.pid,
                at_us: i64::try_from(s.timeStamp).unwrap_or(i64::MAX),
                percent: s.smUtil,
            })
            .collect();
        taken.sort_unstable_by_key(|s| s.at_us);
        if let Some(last) = taken.last() {
            self.process_seen_us = u64::try_from(last.at_us).unwrap_or(seen);
        }
        taken
    }
}

/// Whole percent of the last sample period: of the GPU, and of its memory interface.
pub(super) fn rates(calls: &Calls, handle: nvmlDevice_t) -> Result<(u32, u32), Code> {
    let mut utilization = nvmlUtilization_t { gpu: 0, memory: 0 };
    nvml!(calls, nvmlDeviceGetUtilizationRates(handle, &mut utilization))?;
    Ok((utilization.gpu.min(100), utilization.memory.min(100)))
}
