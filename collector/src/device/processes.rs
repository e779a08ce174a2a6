//! Who has a context on a device: compute, graphics and MPS lists, one entry for each process and instance.

use super::call::{Calls, Code, nvml};
use crate::reading::{Field, Process};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_t};
use schema::wire::Reason;

/// NVML's "not available" for memory and ids.
const NO_MEMORY: u64 = u64::MAX;
const NO_ID: u32 = u32::MAX;

/// A list may grow between two calls; more often than this it isn't asked again within one tick.
const RETRIES_MAX: usize = 3;

/// Drivers 535.43 to 535.86 write 32-byte entries behind a function that promises 24: they would write past the
/// buffer, and their answers are garbage. They are told by version, and by the symbols they have and lack.
pub(super) fn list_is_unsafe(calls: &Calls, driver_version: &str) -> bool {
    let mut parts = driver_version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if major != 0 && major != 535 {
        return false;
    }
    let by_version = major == 535 && (43..98).contains(&minor);
    let lib = calls.lib();
    by_version
        || (lib.nvmlDeviceGetConfComputeMemSizeInfo.is_ok()
            && lib.nvmlDeviceGetRunningProcessDetailList.is_err())
}

#[derive(Clone, Copy)]
enum List {
    Compute,
    Graphics,
    Mps,
}

/// A buffer that lists are read into, kept from tick to tick.
pub(super) struct Lists {
    buffer: Vec<nvmlProcessInfo_t>,
}

impl Lists {
    pub fn new() -> Self {
        Self { buffer: Vec::new() }
    }

    fn resize(&mut self, len: usize) {
        let empty = nvmlProcessInfo_t {
            pid: 0,
            usedGpuMemory: NO_MEMORY,
            gpuInstanceId: NO_ID,
            computeInstanceId: NO_ID,
        };
        self.buffer.resize(len, empty);
    }

    fn read(&mut self, calls: &Calls, handle: nvmlDevice_t, list: List) -> Result<usize, Code> {
        if self.buffer.is_empty() {
            self.resize(64);
        }
        for _ in 0..=RETRIES_MAX {
            let mut count = u32::try_from(self.buffer.len()).expect("a process list is short");
            let infos = self.buffer.as_mut_ptr();
            let outcome = match list {
                List::Compute => {
                    nvml!(calls, nvmlDeviceGetComputeRunningProcesses_v3(handle, &mut count, infos))
                }
                List::Graphics => {
                    nvml!(calls, nvmlDeviceGetGraphicsRunningProcesses_v3(handle, &mut count, infos))
                }
                List::Mps => {
                    nvml!(calls, nvmlDeviceGetMPSComputeRunningProcesses_v3(handle, &mut count, infos))
                }
            };
            match outcome {
                Ok(()) => return Ok((count as usize).min(self.buffer.len())),
                Err(Code::INSUFFICIENT_SIZE) => {
                    let len = (count as usize).max(2 * self.buffer.len()) + 8;
                    self.resize(len);
                }
                Err(code) => return Err(code),
            }
        }
        Err(Code::INSUFFICIENT_SIZE)
    }

    /// The union of the three lists by process and instance. A list that the device doesn't keep is empty; one that
    /// fails fails the union, because a process missing from it would look ended.
    pub fn union(&mut self, calls: &Calls, handle: nvmlDevice_t, is_unsafe: bool) -> Field<Vec<Process>> {
        if is_unsafe {
            return Err(Reason::ProcessListUnsafe);
        }
        let mut all: Vec<Process> = Vec::new();
        let mut supported = false;
        for list in [List::Compute, List::Graphics, List::Mps] {
            match self.read(calls, handle, list) {
                Ok(count) => {
                    supported = true;
                    merge(&mut all, &self.buffer[..count], matches!(list, List::Mps));
                }
                Err(code) if code.is_permanent() => {}
                Err(code) => return Err(code.reason()),
            }
        }
        if supported { Ok(all) } else { Err(Reason::NotSupported) }
    }
}

fn merge(all: &mut Vec<Process>, listed: &[nvmlProcessInfo_t], mps_client: bool) {
    for info in listed.iter().filter(|info| info.pid != 0) {
        let known = |id: u32| (id != NO_ID).then_some(id);
        // A context takes memory: 0 is of a process whose memory is managed where NVML doesn't see it.
        let memory_known = !matches!(info.usedGpuMemory, 0 | NO_MEMORY);
        let process = Process {
            pid: info.pid,
            memory_bytes: memory_known.then_some(info.usedGpuMemory),
            gpu_instance: known(info.gpuInstanceId),
            compute_instance: known(info.computeInstanceId),
            mps_client,
        };
        let place = |p: &Process| (p.pid, p.gpu_instance, p.compute_instance);
        match all.iter_mut().find(|p| place(p) == place(&process)) {
            Some(seen) => {
                seen.memory_bytes = seen.memory_bytes.max(process.memory_bytes);
                seen.mps_client |= mps_client;
            }
            None => all.push(process),
        }
    }
}
