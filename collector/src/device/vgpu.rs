//! Virtual GPUs on a hypervisor's host: which machine has one, its memory, and its utilisation samples.

use super::call::{Calls, Code, nvml, text};
use crate::reading::{ProcessSample, Vgpu};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlValue_t, nvmlVgpuInstance_t, nvmlVgpuInstanceUtilizationSample_t,
};

/// `NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU`.
const HOST_VGPU: u32 = 3;

/// The most vGPUs that any product holds is 32; this leaves room.
const VGPUS_MAX: usize = 64;

/// Length of NVML's id and name buffers.
const TEXT_LEN: u32 = 96;

pub(super) fn is_host(calls: &Calls, device: nvmlDevice_t) -> bool {
    let mut mode = 0;
    nvml!(calls, nvmlDeviceGetVirtualizationMode(device, &mut mode)).is_ok() && mode == HOST_VGPU
}

/// Facts of known vGPUs and the timestamp up to which samples were taken.
pub(super) struct Vgpus {
    known: Vec<Vgpu>,
    seen_us: u64,
}

impl Vgpus {
    pub fn new(since_us: u64) -> Self {
        Self { known: Vec::new(), seen_us: since_us }
    }

    /// The vGPUs that are running now.
    pub fn list(&mut self, calls: &Calls, device: nvmlDevice_t) -> Result<Vec<Vgpu>, Code> {
        let mut ids: [nvmlVgpuInstance_t; VGPUS_MAX] = [0; VGPUS_MAX];
        let mut count = u32::try_from(VGPUS_MAX).expect("64");
        nvml!(calls, nvmlDeviceGetActiveVgpus(device, &mut count, ids.as_mut_ptr()))?;
        let mut running = Vec::with_capacity(count as usize);
        for id in ids.iter().take(count as usize).copied() {
            let mut vgpu = match self.known.iter().find(|vgpu| vgpu.id == id) {
                Some(known) => known.clone(),
                None => facts(calls, device, id)?,
            };
            let mut used = 0;
            vgpu.memory_bytes = nvml!(calls, nvmlVgpuInstanceGetFbUsage(id, &mut used)).ok().map(|()| used);
            running.push(vgpu);
        }
        self.known.clone_from(&running);
        Ok(running)
    }

    /// Utilisation samples newer than the last call's; `pid` carries the vGPU instance id.
    pub fn samples(&mut self, calls: &Calls, device: nvmlDevice_t) -> Result<Vec<ProcessSample>, Code> {
        // SAFETY: the struct is integers and a union of numbers, for which all zeros is a value.
        let empty: nvmlVgpuInstanceUtilizationSample_t = unsafe { std::mem::zeroed() };
        let mut buffer = [empty; VGPUS_MAX];
        let (mut kind, mut count) = (0, u32::try_from(VGPUS_MAX).expect("64"));
        let samples = buffer.as_mut_ptr();
        match nvml!(calls, nvmlDeviceGetVgpuUtilization(device, self.seen_us, &mut kind, &mut count, samples))
        {
            Ok(()) => {}
            Err(Code::NOT_FOUND) => return Ok(Vec::new()),
            Err(code) => return Err(code),
        }
        let seen = self.seen_us;
        let mut taken: Vec<ProcessSample> = buffer
            .iter()
            .take(count as usize)
            .filter(|s| s.timeStamp > seen)
            .map(|s| ProcessSample {
                pid: s.vgpuInstance,
                at_us: i64::try_from(s.timeStamp).unwrap_or(i64::MAX),
                percent: unsigned(s.smUtil),
            })
            .filter(|s| s.percent <= 100)
            .collect();
        taken.sort_unstable_by_key(|s| s.at_us);
        if let Some(last) = taken.last() {
            self.seen_us = u64::try_from(last.at_us).unwrap_or(seen);
        }
        Ok(taken)
    }
}

fn unsigned(value: nvmlValue_t) -> u32 {
    // SAFETY: utilisation is given as an unsigned int, and every bit pattern of it is one.
    unsafe { value.uiVal }
}

fn facts(calls: &Calls, device: nvmlDevice_t, id: nvmlVgpuInstance_t) -> Result<Vgpu, Code> {
    let mut buffer = [0; TEXT_LEN as usize];
    let mut id_kind = 0;
    nvml!(calls, nvmlVgpuInstanceGetVmID(id, buffer.as_mut_ptr(), TEXT_LEN, &mut id_kind))?;
    let vm_id = text(&buffer);
    let mut kind = 0;
    nvml!(calls, nvmlVgpuInstanceGetType(id, &mut kind))?;
    let mut size = TEXT_LEN;
    let type_name = match nvml!(calls, nvmlVgpuTypeGetName(kind, buffer.as_mut_ptr(), &mut size)) {
        Ok(()) => text(&buffer),
        Err(_) => String::new(),
    };
    let mut max = 0;
    let max_instances = nvml!(calls, nvmlVgpuTypeGetMaxInstances(device, kind, &mut max))
        .ok()
        .map(|()| max)
        .filter(|max| *max > 0);
    Ok(Vgpu { id, vm_id, type_name, max_instances, memory_bytes: None })
}
