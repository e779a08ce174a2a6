//! The library and the node: initialisation, versions, finding devices.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{CStr, c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::call::{self, Answer, Code, Node, node_calls, put, put_text, text};
use crate::handle::Handle;
use crate::names::{self, id};
use crate::{state, truth};

fn init(function: usize) -> nvmlReturn_t {
    call::on_library(function, || {
        let model = state::model().ok_or(Code::DRIVER_NOT_LOADED)?;
        call::inject(&model, function, None)?;
        state::init(&model);
        Ok(())
    })
}

/// Initialises the library.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    init(id::nvmlInit_v2)
}

/// Initialises the library, by its first name.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> nvmlReturn_t {
    init(id::nvmlInit)
}

/// Initialises the library; the flags (don't attach, GPUs may be absent) make no difference here.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    init(id::nvmlInitWithFlags)
}

/// Gives the library back; the last user writes the ground truth where one was asked for.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    call::on_library(id::nvmlShutdown, || {
        if let Some(model) = state::model() {
            call::inject(&model, id::nvmlShutdown, None)?;
        }
        if !state::shutdown() {
            return Err(Code::UNINITIALIZED);
        }
        truth::write_if_asked();
        Ok(())
    })
}

/// The text of a return code.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    names::count_call(id::nvmlErrorString);
    let text: &'static CStr = match result {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        13 => c"Function Not Found",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        18 => c"Driver/library version mismatch",
        25 => c"Argument version mismatch",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

node_calls! {
    /// The driver's version.
    fn nvmlSystemGetDriverVersion(node, version: *mut c_char, length: c_uint) {
        put_text(version, length, &node.model.scenario.driver_version)
    }

    /// NVML's version: the CUDA major version, then the driver's.
    fn nvmlSystemGetNVMLVersion(node, version: *mut c_char, length: c_uint) {
        let scenario = &node.model.scenario;
        let cuda_major = scenario.cuda_version.split('.').next().unwrap_or_default();
        put_text(version, length, &format!("{cuda_major}.{}", scenario.driver_version))
    }

    /// CUDA version, as 1000 × major + 10 × minor.
    fn nvmlSystemGetCudaDriverVersion(node, cuda_version: *mut c_int) {
        put(cuda_version, cuda_number(node))
    }

    /// CUDA version, as 1000 × major + 10 × minor.
    fn nvmlSystemGetCudaDriverVersion_v2(node, cuda_version: *mut c_int) {
        put(cuda_version, cuda_number(node))
    }

    /// Path of a process's executable.
    fn nvmlSystemGetProcessName(node, pid: c_uint, name: *mut c_char, length: c_uint) {
        let process = node.model.hosts.find(pid, node.now_us).ok_or(Code::NOT_FOUND)?;
        put_text(name, length, &node.model.scenario.processes[process.entry].name)
    }

    /// How many GPUs the node has, lost ones included.
    fn nvmlDeviceGetCount_v2(node, count: *mut c_uint) {
        put(count, node.model.gpus.len() as c_uint)
    }

    /// How many GPUs the node has, by its first name.
    fn nvmlDeviceGetCount(node, count: *mut c_uint) {
        put(count, node.model.gpus.len() as c_uint)
    }

    /// The GPU of this index.
    fn nvmlDeviceGetHandleByIndex_v2(node, index: c_uint, device: *mut nvmlDevice_t) {
        put_gpu(device, node, id::nvmlDeviceGetHandleByIndex_v2, index as usize)
    }

    /// The GPU of this index, by its first name.
    fn nvmlDeviceGetHandleByIndex(node, index: c_uint, device: *mut nvmlDevice_t) {
        put_gpu(device, node, id::nvmlDeviceGetHandleByIndex, index as usize)
    }

    /// The GPU or MIG device of this UUID.
    fn nvmlDeviceGetHandleByUUID(node, uuid: *const c_char, device: *mut nvmlDevice_t) {
        let uuid = text(uuid)?;
        for gpu in &node.model.gpus {
            if gpu.uuid == uuid {
                return put_gpu(device, node, id::nvmlDeviceGetHandleByUUID, gpu.index);
            }
            let Some((number, layout)) = gpu.layout_at(node.now_us) else { continue };
            if let Some((_, found)) = layout.devices().find(|(_, found)| found.uuid == uuid) {
                let handle = whole(node, gpu.index)?;
                return put(device, Handle { mig: Some((number, found.slot)), ..handle }.encode());
            }
        }
        Err(Code::NOT_FOUND)
    }

    /// The GPU at this place of the PCI bus.
    fn nvmlDeviceGetHandleByPciBusId_v2(node, bus_id: *const c_char, device: *mut nvmlDevice_t) {
        let bus_id = text(bus_id)?.to_ascii_uppercase();
        let found = node.model.gpus.iter().find(|gpu| {
            let own = super::device::bus_id(gpu.index);
            own == bus_id || own[4..] == bus_id
        });
        put_gpu(device, node, id::nvmlDeviceGetHandleByPciBusId_v2, found.ok_or(Code::NOT_FOUND)?.index)
    }
}

fn cuda_number(node: &Node) -> c_int {
    let mut parts = node.model.scenario.cuda_version.split('.').map(|part| part.parse().unwrap_or(0));
    let major: c_int = parts.next().unwrap_or(0);
    major * 1000 + parts.next().unwrap_or(0) * 10
}

/// A whole GPU's handle as of now.
fn whole(node: &Node, index: usize) -> Result<Handle, Code> {
    let gpu = node.model.gpus.get(index).ok_or(Code::INVALID_ARGUMENT)?;
    if call::is_lost(gpu, node.now_us) {
        return Err(Code::GPU_IS_LOST);
    }
    Ok(Handle { gpu: index, mig: None, returns: call::returns(gpu, node.now_us) })
}

/// # Safety
/// `device` is null or may be written.
unsafe fn put_gpu(device: *mut nvmlDevice_t, node: &Node, function: usize, index: usize) -> Answer {
    let handle = whole(node, index)?;
    call::inject_found(node.model, function, index)?;
    // SAFETY: the caller vouches for the pointer.
    unsafe { put(device, handle.encode()) }
}
