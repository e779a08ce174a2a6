//! vGPU on a host: which virtual machines have one, what each uses, and how busy each is.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_char, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlGpuVirtualizationMode_t, nvmlHostVgpuMode_t, nvmlValue_t, nvmlValueType_t, nvmlVgpuInstance_t,
    nvmlVgpuInstanceUtilizationInfo_v1_t, nvmlVgpuInstanceUtilizationSample_t,
    nvmlVgpuInstancesUtilizationInfo_t, nvmlVgpuProcessUtilizationSample_t, nvmlVgpuTypeId_t,
    nvmlVgpuVmIdType_t,
};

use super::process_utilization::{Sample, sample};
use super::sampled::{Window, memory_percent};
use super::utilization::UNSIGNED_INT;
use crate::call::{
    Answer, Code, Device, Node, check_version, device_calls, node_calls, put, put_list, put_text,
};
use crate::model::{GpuModel, MIB, VmModel};
use crate::scenario::{Mode, Vm};

/// `NVML_GPU_VIRTUALIZATION_MODE_NONE` and `_HOST_VGPU`.
const BARE_METAL: nvmlGpuVirtualizationMode_t = 0;
const HOST_VGPU: nvmlGpuVirtualizationMode_t = 3;
/// `NVML_HOST_VGPU_MODE_SRIOV`.
const SRIOV: nvmlHostVgpuMode_t = 1;
/// `NVML_VGPU_VM_ID_DOMAIN_ID`.
const DOMAIN_ID: nvmlVgpuVmIdType_t = 0;
/// PID, inside its guest, of the process that the per-process list shows.
const GUEST_PID: c_uint = 1000;
/// Not an instance of a GPU instance.
const NO_INSTANCE: c_uint = c_uint::MAX;

/// NVML's number of a virtual machine's vGPU, and of its type.
fn number(gpu: usize, vm: usize) -> c_uint {
    (gpu as c_uint + 1) << 16 | (vm as c_uint + 1)
}

fn is_host(device: &Device) -> bool {
    device.model.scenario.gpus[device.gpu.index].mode == Mode::Vgpu
}

fn host_only(device: &Device) -> Answer {
    device.whole()?;
    if is_host(device) { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}

/// The virtual machine of a number, if it lives.
fn find<'a>(node: &'a Node, number: c_uint) -> Result<(&'a GpuModel, &'a VmModel, &'a Vm), Code> {
    let gpu = (number >> 16).checked_sub(1).ok_or(Code::INVALID_ARGUMENT)? as usize;
    let gpu = node.model.gpus.get(gpu).ok_or(Code::INVALID_ARGUMENT)?;
    let vm = (number & 0xffff)
        .checked_sub(1)
        .and_then(|vm| gpu.vms.get(vm as usize))
        .ok_or(Code::INVALID_ARGUMENT)?;
    if vm.start_us <= node.now_us && node.now_us < vm.end_us {
        Ok((gpu, vm, &node.model.scenario.gpus[gpu.index].vms[vm.entry]))
    } else {
        Err(Code::NOT_FOUND)
    }
}

/// Samples of the virtual machines that live, newer than the caller's last.
fn samples<'a>(device: &'a Device, last_seen_us: u64) -> Result<Vec<(&'a VmModel, Sample)>, Code> {
    let window = Window::newer_than(device.model, device.now_us, last_seen_us).ok_or(Code::NOT_FOUND)?;
    let found = device.gpu.vms_at(device.now_us);
    let found: Vec<(&VmModel, Sample)> =
        found.filter_map(|vm| Some((vm, sample(device, window, &vm.busy, vm.phase)?))).collect();
    if found.is_empty() { Err(Code::NOT_FOUND) } else { Ok(found) }
}

fn int(value: u32) -> nvmlValue_t {
    nvmlValue_t { uiVal: value }
}

device_calls! {
    /// Whether the GPU is shared among virtual machines.
    fn nvmlDeviceGetVirtualizationMode(device, mode: *mut nvmlGpuVirtualizationMode_t) {
        device.whole()?;
        put(mode, if is_host(device) { HOST_VGPU } else { BARE_METAL })
    }

    /// How it is shared among virtual machines.
    fn nvmlDeviceGetHostVgpuMode(device, mode: *mut nvmlHostVgpuMode_t) {
        host_only(device)?;
        put(mode, SRIOV)
    }

    /// Virtual machines' vGPUs.
    fn nvmlDeviceGetActiveVgpus(device, count: *mut c_uint, target: *mut nvmlVgpuInstance_t) {
        host_only(device)?;
        let active = device.gpu.vms_at(device.now_us).map(|vm| number(device.gpu.index, vm.entry));
        put_list(count, target, active.collect())
    }

    /// How busy each virtual machine is.
    fn nvmlDeviceGetVgpuUtilization(
        device,
        last_seen_us: c_ulonglong,
        value_type: *mut nvmlValueType_t,
        count: *mut c_uint,
        target: *mut nvmlVgpuInstanceUtilizationSample_t,
    ) {
        host_only(device)?;
        put(value_type, UNSIGNED_INT)?;
        if target.is_null() {
            put(count, device.gpu.vms_at(device.now_us).count() as c_uint)?;
            return Err(Code::INSUFFICIENT_SIZE);
        }
        let found = samples(device, last_seen_us)?.into_iter();
        let found = found.map(|(vm, sample)| nvmlVgpuInstanceUtilizationSample_t {
            vgpuInstance: number(device.gpu.index, vm.entry),
            timeStamp: sample.timestamp_us,
            smUtil: int(sample.percent),
            memUtil: int(memory_percent(sample.percent)),
            encUtil: int(0),
            decUtil: int(0),
        });
        put_list(count, target, found.collect())
    }

    /// The same, in a struct with a version and more engines.
    fn nvmlDeviceGetVgpuInstancesUtilizationInfo(device, info: *mut nvmlVgpuInstancesUtilizationInfo_t) {
        host_only(device)?;
        let info = info.as_mut().ok_or(Code::INVALID_ARGUMENT)?;
        check_version::<nvmlVgpuInstancesUtilizationInfo_t>(info.version, 1)?;
        info.sampleValType = UNSIGNED_INT;
        if info.vgpuUtilArray.is_null() {
            info.vgpuInstanceCount = device.gpu.vms_at(device.now_us).count() as c_uint;
            return Err(Code::INSUFFICIENT_SIZE);
        }
        let found = samples(device, info.lastSeenTimeStamp)?.into_iter();
        let found = found.map(|(vm, sample)| nvmlVgpuInstanceUtilizationInfo_v1_t {
            timeStamp: sample.timestamp_us,
            vgpuInstance: number(device.gpu.index, vm.entry),
            smUtil: int(sample.percent),
            memUtil: int(memory_percent(sample.percent)),
            encUtil: int(0),
            decUtil: int(0),
            jpgUtil: int(0),
            ofaUtil: int(0),
        });
        put_list(&raw mut info.vgpuInstanceCount, info.vgpuUtilArray, found.collect())
    }

    /// How busy each process of each virtual machine is; here each has one.
    fn nvmlDeviceGetVgpuProcessUtilization(
        device,
        last_seen_us: c_ulonglong,
        count: *mut c_uint,
        target: *mut nvmlVgpuProcessUtilizationSample_t,
    ) {
        host_only(device)?;
        if target.is_null() {
            put(count, device.gpu.vms_at(device.now_us).count() as c_uint)?;
            return Err(Code::INSUFFICIENT_SIZE);
        }
        let vms = &device.model.scenario.gpus[device.gpu.index].vms;
        let found = samples(device, last_seen_us)?.into_iter();
        let found = found.map(|(vm, sample)| {
            let mut name = [0; 64];
            for (to, from) in name.iter_mut().zip(vms[vm.entry].guest_process.bytes().take(63)) {
                *to = from as c_char;
            }
            nvmlVgpuProcessUtilizationSample_t {
                vgpuInstance: number(device.gpu.index, vm.entry),
                pid: GUEST_PID,
                processName: name,
                timeStamp: sample.timestamp_us,
                smUtil: sample.percent,
                memUtil: memory_percent(sample.percent),
                encUtil: 0,
                decUtil: 0,
            }
        });
        put_list(count, target, found.collect())
    }
}

node_calls! {
    /// The hypervisor's id of a vGPU's virtual machine.
    fn nvmlVgpuInstanceGetVmID(
        node,
        vgpu: nvmlVgpuInstance_t,
        id: *mut c_char,
        size: c_uint,
        kind: *mut nvmlVgpuVmIdType_t,
    ) {
        let (_, _, vm) = find(node, vgpu)?;
        put(kind, DOMAIN_ID)?;
        put_text(id, size, &vm.vm_id)
    }

    /// A vGPU's UUID.
    fn nvmlVgpuInstanceGetUUID(node, vgpu: nvmlVgpuInstance_t, uuid: *mut c_char, size: c_uint) {
        put_text(uuid, size, &find(node, vgpu)?.1.uuid)
    }

    /// Memory that a vGPU uses, in bytes.
    fn nvmlVgpuInstanceGetFbUsage(node, vgpu: nvmlVgpuInstance_t, bytes: *mut c_ulonglong) {
        put(bytes, find(node, vgpu)?.1.memory.value_at(node.now_us))
    }

    /// A vGPU's type.
    fn nvmlVgpuInstanceGetType(node, vgpu: nvmlVgpuInstance_t, kind: *mut nvmlVgpuTypeId_t) {
        find(node, vgpu)?;
        put(kind, vgpu)
    }

    /// A vGPU has a license.
    fn nvmlVgpuInstanceGetLicenseStatus(node, vgpu: nvmlVgpuInstance_t, licensed: *mut c_uint) {
        find(node, vgpu)?;
        put(licensed, 1)
    }

    /// Version of the driver in the guest.
    fn nvmlVgpuInstanceGetVmDriverVersion(node, vgpu: nvmlVgpuInstance_t, version: *mut c_char, length: c_uint) {
        find(node, vgpu)?;
        put_text(version, length, &node.model.scenario.driver_version)
    }

    /// The GPU instance that backs a vGPU: none.
    fn nvmlVgpuInstanceGetGpuInstanceId(node, vgpu: nvmlVgpuInstance_t, gi: *mut c_uint) {
        find(node, vgpu)?;
        put(gi, NO_INSTANCE)
    }

    /// A vGPU type's name.
    fn nvmlVgpuTypeGetName(node, kind: nvmlVgpuTypeId_t, name: *mut c_char, size: *mut c_uint) {
        let (_, _, vm) = find(node, kind)?;
        let room = *size.as_ref().ok_or(Code::INVALID_ARGUMENT)?;
        put(size, vm.vgpu_type.len() as c_uint + 1)?;
        put_text(name, room, &vm.vgpu_type)
    }

    /// Memory of a vGPU type, in bytes: the number after the last dash of its name, in GiB.
    fn nvmlVgpuTypeGetFramebufferSize(node, kind: nvmlVgpuTypeId_t, bytes: *mut c_ulonglong) {
        let (gpu, _, vm) = find(node, kind)?;
        let size = vm.vgpu_type.rsplit('-').next().unwrap_or_default();
        let digits: String = size.chars().take_while(char::is_ascii_digit).collect();
        put(bytes, digits.parse().map_or(gpu.preset.total_bytes, |gib: u64| gib * 1024 * MIB))
    }
}
