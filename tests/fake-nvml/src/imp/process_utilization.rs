//! Utilisation by process. Under MIG there is none, of any generation.
//!
//! NVIDIA leaves open what a sample says, so the scenario chooses: the mean over every sample period newer than the
//! caller's last-seen timestamp, or the newest period in which the process wasn't idle. Either way a process without a
//! percent has no sample, and a device without a sample answers NOT_FOUND.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlProcessUtilizationInfo_v1_t, nvmlProcessUtilizationSample_t, nvmlProcessesUtilizationInfo_t,
};

use super::sampled::{Window, memory_percent};
use crate::call::{Answer, Code, Device, check_version, device_calls, put_list};
use crate::model::{ProcessModel, hash};
use crate::scenario::{MpsUtilization, ProcessUtilization};
use crate::series::Steps;

/// What the driver says when it is asked how much room it needs, however many samples there are.
const ROOM: c_uint = 100;

/// One sample.
pub(super) struct Sample {
    pub timestamp_us: u64,
    pub percent: u32,
}

/// The sample of a busy series, by the scenario's choice of what a sample says.
pub(super) fn sample(device: &Device, window: Window, busy: &Steps, phase: u64) -> Option<Sample> {
    let (period, percent) = match device.model.scenario.process_utilization {
        ProcessUtilization::MeanSinceLastSeen => (window, window.percent(busy, phase)),
        ProcessUtilization::LastPeriod => window.newest(device.model, busy, phase)?,
    };
    (percent > 0).then_some(Sample { timestamp_us: period.timestamp_us(), percent })
}

fn samples(device: &Device, last_seen_us: u64) -> Result<Vec<nvmlProcessUtilizationSample_t>, Code> {
    let scenario = &device.model.scenario;
    let window = Window::newer_than(device.model, device.now_us, last_seen_us).ok_or(Code::NOT_FOUND)?;
    let by_server = scenario.gpus[device.gpu.index].mps_utilization == MpsUtilization::Server;
    let in_window =
        |process: &&ProcessModel| process.start_us < window.to_us && window.from_us < process.end_us;
    let mut found = Vec::new();
    let mut add = |pid: u32, busy: &Steps, phase: u64| {
        if let Some(sample) = sample(device, window, busy, phase) {
            found.push(nvmlProcessUtilizationSample_t {
                pid,
                timeStamp: sample.timestamp_us,
                smUtil: sample.percent,
                memUtil: memory_percent(sample.percent),
                encUtil: 0,
                decUtil: 0,
            });
        }
    };
    let mut of_clients = Vec::new();
    for process in device.gpu.processes.iter().filter(in_window) {
        let entry = &scenario.processes[process.entry];
        if entry.mps_client && by_server {
            of_clients.push(&process.busy);
        } else if !entry.mps_server || !by_server {
            add(process.pid, &process.busy, process.phase);
        }
    }
    let server = device
        .gpu
        .processes
        .iter()
        .filter(in_window)
        .find(|process| scenario.processes[process.entry].mps_server);
    if let (true, Some(server)) = (by_server, server) {
        of_clients.push(&server.busy);
        add(server.pid, &Steps::sum(of_clients), hash(&["server", &server.pid.to_string()]));
    }
    if found.is_empty() { Err(Code::NOT_FOUND) } else { Ok(found) }
}

fn whole_only(device: &Device) -> Answer {
    device.whole()?;
    device.not_cut()
}

device_calls! {
    /// Samples newer than the caller's last-seen timestamp.
    fn nvmlDeviceGetProcessUtilization(
        device,
        target: *mut nvmlProcessUtilizationSample_t,
        count: *mut c_uint,
        last_seen_us: c_ulonglong,
    ) {
        whole_only(device)?;
        if target.is_null() {
            *count.as_mut().ok_or(Code::INVALID_ARGUMENT)? = ROOM.max(device.gpu.alive_at(device.now_us).count() as c_uint);
            return Err(Code::INSUFFICIENT_SIZE);
        }
        put_list(count, target, samples(device, last_seen_us)?)
    }

    /// The same, in a struct with a version and more engines.
    fn nvmlDeviceGetProcessesUtilizationInfo(device, info: *mut nvmlProcessesUtilizationInfo_t) {
        whole_only(device)?;
        let info = info.as_mut().ok_or(Code::INVALID_ARGUMENT)?;
        check_version::<nvmlProcessesUtilizationInfo_t>(info.version, 1)?;
        if info.procUtilArray.is_null() {
            info.processSamplesCount = ROOM.max(device.gpu.alive_at(device.now_us).count() as c_uint);
            return Err(Code::INSUFFICIENT_SIZE);
        }
        let found = samples(device, info.lastSeenTimeStamp)?.into_iter().map(|sample| nvmlProcessUtilizationInfo_v1_t {
            timeStamp: sample.timeStamp,
            pid: sample.pid,
            smUtil: sample.smUtil,
            memUtil: sample.memUtil,
            encUtil: 0,
            decUtil: 0,
            jpgUtil: 0,
            ofaUtil: 0,
        });
        put_list(&raw mut info.processSamplesCount, info.procUtilArray, found.collect())
    }
}
