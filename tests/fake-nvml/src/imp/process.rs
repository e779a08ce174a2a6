//! Who is on a device: compute, graphics and MPS lists in every struct version, and the detail list.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlProcessDetail_v1_t, nvmlProcessDetailList_t, nvmlProcessInfo_t};

use crate::call::{Answer, Code, Device, check_version, device_calls, put_list};
use crate::model::ProcessModel;
use crate::scenario::Process;
use crate::state;

/// What NVML writes where it can't tell.
const NOT_AVAILABLE: u32 = u32::MAX;
const NO_MEMORY: u64 = u64::MAX;
/// A function of this name that the driver of the 535 hazard doesn't have.
const FUNCTION_NOT_FOUND: Code = Code(13);

/// Which list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Compute,
    Graphics,
    Mps,
    All,
}

/// Version 1 of a process: no instance.
#[repr(C)]
pub struct ProcessInfoV1 {
    pid: u32,
    used_bytes: u64,
}

/// Version 3 as drivers 535.43 to 535.86 had it: eight bytes longer under the same name.
#[repr(C)]
#[derive(Clone, Copy)]
struct ProcessInfo535 {
    process: nvmlProcessInfo_t,
    protected_bytes: u64,
}

/// Processes of a list that live now, on what the handle stands for.
pub(super) fn listed<'a>(
    device: &'a Device,
    list: List,
) -> impl Iterator<Item = (&'a ProcessModel, &'a Process)> + 'a {
    let scenario = &device.model.scenario;
    let in_compute = scenario.gpus[device.gpu.index].mps_clients_in_compute_list;
    let own = device.mig.map(|(instance, mig)| (instance.gi, mig.ci));
    device
        .gpu
        .alive_at(device.now_us)
        .map(|process| (process, &scenario.processes[process.entry]))
        .filter(move |(process, _)| own.is_none() || process.instance == own)
        .filter(move |(_, entry)| match list {
            List::Compute => !entry.graphics_only && (!entry.mps_client || in_compute),
            List::Graphics => entry.graphics || entry.graphics_only,
            List::Mps => entry.mps_client,
            List::All => true,
        })
}

fn infos(device: &Device, list: List) -> Vec<nvmlProcessInfo_t> {
    state::sync_procfs(device.model, device.now_us);
    let info = |(process, entry): (&ProcessModel, &Process)| {
        let (gi, ci) = process.instance.unwrap_or((NOT_AVAILABLE, NOT_AVAILABLE));
        let used = if entry.memory_unavailable { NO_MEMORY } else { process.memory.value_at(device.now_us) };
        nvmlProcessInfo_t { pid: process.pid, usedGpuMemory: used, gpuInstanceId: gi, computeInstanceId: ci }
    };
    listed(device, list).map(info).collect()
}

/// # Safety
/// As [`put_list`].
unsafe fn put_v1(device: &Device, list: List, count: *mut c_uint, target: *mut ProcessInfoV1) -> Answer {
    let infos = infos(device, list).into_iter();
    let infos = infos.map(|info| ProcessInfoV1 { pid: info.pid, used_bytes: info.usedGpuMemory }).collect();
    // SAFETY: the caller vouches for both pointers.
    unsafe { put_list(count, target, infos) }
}

/// # Safety
/// As [`put_list`].
unsafe fn put_v2(device: &Device, list: List, count: *mut c_uint, target: *mut nvmlProcessInfo_t) -> Answer {
    // SAFETY: the caller vouches for both pointers.
    unsafe { put_list(count, target, infos(device, list)) }
}

/// # Safety
/// As [`put_list`].
unsafe fn put_v3(device: &Device, list: List, count: *mut c_uint, target: *mut nvmlProcessInfo_t) -> Answer {
    if !device.model.scenario.proc_struct_535 {
        // SAFETY: the caller vouches for both pointers.
        return unsafe { put_list(count, target, infos(device, list)) };
    }
    let infos = infos(device, list);
    if count.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: it isn't null, and the caller vouches for the rest.
    let room = unsafe { count.replace(infos.len() as c_uint) } as usize;
    if infos.len() > room {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    // The driver wrote past the caller's array here; the simulation stops at its end.
    let fit = room * size_of::<nvmlProcessInfo_t>() / size_of::<ProcessInfo535>();
    for (index, info) in infos.into_iter().enumerate().take(fit) {
        // SAFETY: `fit` wide structs lie within the caller's `room` narrow ones.
        unsafe {
            target
                .cast::<ProcessInfo535>()
                .add(index)
                .write(ProcessInfo535 { process: info, protected_bytes: 0 })
        };
    }
    Ok(())
}

device_calls! {
    /// Compute processes, version 1.
    fn nvmlDeviceGetComputeRunningProcesses(device, count: *mut c_uint, infos: *mut ProcessInfoV1) {
        put_v1(device, List::Compute, count, infos)
    }

    /// Compute processes, version 2.
    fn nvmlDeviceGetComputeRunningProcesses_v2(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v2(device, List::Compute, count, infos)
    }

    /// Compute processes, version 3.
    fn nvmlDeviceGetComputeRunningProcesses_v3(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v3(device, List::Compute, count, infos)
    }

    /// Graphics processes, version 1.
    fn nvmlDeviceGetGraphicsRunningProcesses(device, count: *mut c_uint, infos: *mut ProcessInfoV1) {
        put_v1(device, List::Graphics, count, infos)
    }

    /// Graphics processes, version 2.
    fn nvmlDeviceGetGraphicsRunningProcesses_v2(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v2(device, List::Graphics, count, infos)
    }

    /// Graphics processes, version 3.
    fn nvmlDeviceGetGraphicsRunningProcesses_v3(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v3(device, List::Graphics, count, infos)
    }

    /// MPS clients, version 1.
    fn nvmlDeviceGetMPSComputeRunningProcesses(device, count: *mut c_uint, infos: *mut ProcessInfoV1) {
        put_v1(device, List::Mps, count, infos)
    }

    /// MPS clients, version 2.
    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v2(device, List::Mps, count, infos)
    }

    /// MPS clients, version 3.
    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(device, count: *mut c_uint, infos: *mut nvmlProcessInfo_t) {
        put_v3(device, List::Mps, count, infos)
    }

    /// Processes of one kind (0 compute, 1 graphics, 2 MPS) or all (3), each with its protected memory.
    fn nvmlDeviceGetRunningProcessDetailList(device, list: *mut nvmlProcessDetailList_t) {
        if device.model.scenario.proc_struct_535 {
            return Err(FUNCTION_NOT_FOUND);
        }
        let list = list.as_mut().ok_or(Code::INVALID_ARGUMENT)?;
        check_version::<nvmlProcessDetailList_t>(list.version, 1)?;
        let kind = match list.mode {
            0 => List::Compute,
            1 => List::Graphics,
            2 => List::Mps,
            3 => List::All,
            _ => return Err(Code::INVALID_ARGUMENT),
        };
        let details = infos(device, kind).into_iter().map(|info| nvmlProcessDetail_v1_t {
            pid: info.pid,
            usedGpuMemory: info.usedGpuMemory,
            gpuInstanceId: info.gpuInstanceId,
            computeInstanceId: info.computeInstanceId,
            usedGpuCcProtectedMemory: 0,
        });
        let details: Vec<nvmlProcessDetail_v1_t> = details.collect();
        put_list(&raw mut list.numProcArrayEntries, list.procArray, details)
    }
}
