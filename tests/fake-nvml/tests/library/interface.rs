//! The C interface itself: versions of structs, sizes of arrays, and what is asked for without room.
#![allow(unsafe_code, reason = "these calls go past nvml-wrapper, or aren't wrapped by it")]

use std::ptr;

use nvidia_ml::scenario::{Gpu, GpuInstance, Mode, Process, Scenario, Vm};
use nvml_wrapper_sys::bindings::*;

use crate::node::{Node, START_US};

const INSUFFICIENT_SIZE: nvmlReturn_t = 7;
const VERSION_MISMATCH: nvmlReturn_t = 25;

fn node() -> Node {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    let vm = Vm {
        vm_id: "a".to_owned(),
        vgpu_type: "NVIDIA L40S-12Q".to_owned(),
        start: 0.into(),
        end: None,
        busy: 30.0.into(),
        memory_mib: 100.0.into(),
        guest_process: "blender".to_owned(),
    };
    scenario.gpus.push(Gpu { mode: Mode::Vgpu, vms: vec![vm], ..Gpu::new("l40s") });
    scenario.processes.push(Process::new(1, 0).busy(40.0).memory_mib(10.0));
    scenario.processes.push(Process { graphics_only: true, ..Process::new(2, 0) });
    Node::new(scenario)
}

/// A struct's `version`, as the headers make it.
fn version<T>(number: u32) -> u32 {
    size_of::<T>() as u32 | number << 24
}

#[test]
fn a_struct_of_another_version_is_refused() {
    let node = node();
    let (lib, gpu) = (node.nvml.lib(), node.gpu(0));
    let memory = lib.nvmlDeviceGetMemoryInfo_v2.as_ref().unwrap();
    let details = lib.nvmlDeviceGetRunningProcessDetailList.as_ref().unwrap();
    let utilization = lib.nvmlDeviceGetProcessesUtilizationInfo.as_ref().unwrap();
    let support = lib.nvmlGpmQueryDeviceSupport.as_ref().unwrap();
    for (number, memory_answer, others_answer) in [(1, VERSION_MISMATCH, 0), (2, 0, VERSION_MISMATCH)] {
        // SAFETY: every struct is whole and lives as long as the call.
        unsafe {
            let mut info = nvmlMemory_v2_t {
                version: version::<nvmlMemory_v2_t>(number),
                total: 0,
                reserved: 0,
                free: 0,
                used: 0,
            };
            assert_eq!(memory(gpu.handle(), &mut info), memory_answer);
            let mut room = [std::mem::zeroed::<nvmlProcessDetail_v1_t>(); 4];
            let mut list = nvmlProcessDetailList_t {
                version: version::<nvmlProcessDetailList_t>(number),
                mode: 3,
                numProcArrayEntries: 4,
                procArray: room.as_mut_ptr(),
            };
            assert_eq!(details(gpu.handle(), &mut list), others_answer);
            if others_answer == 0 {
                assert_eq!(
                    (list.numProcArrayEntries, room[0].pid, room[1].pid),
                    (2, 1, 2),
                    "compute and graphics"
                );
            }
            let mut info = nvmlProcessesUtilizationInfo_t {
                version: version::<nvmlProcessesUtilizationInfo_t>(number),
                processSamplesCount: 0,
                lastSeenTimeStamp: 0,
                procUtilArray: ptr::null_mut(),
            };
            let answer = if others_answer == 0 { INSUFFICIENT_SIZE } else { others_answer };
            assert_eq!(utilization(gpu.handle(), &mut info), answer);
            let mut gpm = nvmlGpmSupport_t { version: number, isSupportedDevice: 0 };
            assert_eq!(support(gpu.handle(), &mut gpm), others_answer);
        }
    }
}

#[test]
fn a_list_without_room_says_how_much_it_needs() {
    let node = node();
    node.at(5.0);
    let (lib, gpu) = (node.nvml.lib(), node.gpu(0));
    // SAFETY: pointers are null or point to as much room as the counts say.
    unsafe {
        let mut count = 0;
        let list = lib.nvmlDeviceGetComputeRunningProcesses_v3.as_ref().unwrap();
        assert_eq!((list(gpu.handle(), &mut count, ptr::null_mut()), count), (INSUFFICIENT_SIZE, 1));
        // Real drivers name a constant here, however many samples there are.
        let samples = lib.nvmlDeviceGetProcessUtilization.as_ref().unwrap();
        assert_eq!((samples(gpu.handle(), ptr::null_mut(), &mut count, 0), count), (INSUFFICIENT_SIZE, 100));
        let mut room = [std::mem::zeroed::<nvmlProcessUtilizationSample_t>(); 100];
        assert_eq!((samples(gpu.handle(), room.as_mut_ptr(), &mut count, START_US as u64), count), (0, 1));
        assert_eq!((room[0].pid, room[0].smUtil, room[0].timeStamp as i64), (1, 40, START_US + 5_000_000));
    }
}

/// Later headers have a longer array of metrics, so what lies behind those asked for belongs to the caller.
#[test]
fn gpm_touches_only_the_metrics_asked_for() {
    let node = node();
    let (lib, gpu) = (node.nvml.lib(), node.gpu(0));
    let allocate = lib.nvmlGpmSampleAlloc.as_ref().unwrap();
    let take = lib.nvmlGpmSampleGet.as_ref().unwrap();
    let metrics = lib.nvmlGpmMetricsGet.as_ref().unwrap();
    // SAFETY: the samples are allocated before use and freed once; the request is whole.
    unsafe {
        let mut samples = [ptr::null_mut(); 2];
        for (second, sample) in samples.iter_mut().enumerate() {
            assert_eq!(allocate(sample), 0);
            node.at(second as f64);
            assert_eq!(take(gpu.handle(), *sample), 0);
        }
        let mut request: nvmlGpmMetricsGet_t = std::mem::zeroed();
        (request.version, request.numMetrics) = (1, 2);
        (request.sample1, request.sample2) = (samples[0], samples[1]);
        for metric in &mut request.metrics {
            (metric.metricId, metric.nvmlReturn, metric.value) = (2, 77, -1.0);
        }
        request.metrics[1].metricId = 9999;
        assert_eq!(metrics(&mut request), 0);
        assert_eq!((request.metrics[0].nvmlReturn, request.metrics[0].value), (0, 40.0));
        assert_eq!(request.metrics[1].nvmlReturn, 3, "a metric that doesn't exist");
        assert!(request.metrics[2..].iter().all(|metric| (metric.nvmlReturn, metric.value) == (77, -1.0)));
        request.version = 2;
        assert_eq!(metrics(&mut request), VERSION_MISMATCH);
        for sample in samples {
            assert_eq!(lib.nvmlGpmSampleFree.as_ref().unwrap()(sample), 0);
        }
    }
}

#[test]
fn a_vgpu_host_says_how_busy_each_machine_and_its_processes_are() {
    let node = node();
    node.at(10.0);
    let (lib, host, plain) = (node.nvml.lib(), node.gpu(1), node.gpu(0));
    let machines = lib.nvmlDeviceGetVgpuUtilization.as_ref().unwrap();
    let processes = lib.nvmlDeviceGetVgpuProcessUtilization.as_ref().unwrap();
    // SAFETY: pointers are null or point to as much room as the counts say.
    unsafe {
        let (mut kind, mut count) = (0, 0);
        assert_eq!(machines(plain.handle(), 0, &mut kind, &mut count, ptr::null_mut()), 3);
        assert_eq!(machines(host.handle(), 0, &mut kind, &mut count, ptr::null_mut()), INSUFFICIENT_SIZE);
        assert_eq!(count, 1);
        let mut room = [std::mem::zeroed::<nvmlVgpuInstanceUtilizationSample_t>(); 1];
        assert_eq!(machines(host.handle(), START_US as u64, &mut kind, &mut count, room.as_mut_ptr()), 0);
        assert_eq!((kind, room[0].smUtil.uiVal), (nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT, 30));
        let mut room = [std::mem::zeroed::<nvmlVgpuProcessUtilizationSample_t>(); 1];
        assert_eq!(processes(host.handle(), START_US as u64, &mut count, room.as_mut_ptr()), 0);
        let name: Vec<u8> = room[0].processName.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
        assert_eq!((name.as_slice(), room[0].smUtil), (&b"blender"[..], 30));
    }
}

#[test]
fn fields_answer_one_by_one() {
    let node = node();
    node.at(10.0);
    let gpu = node.gpu(0);
    let fields = lib_fields(&node, &gpu, &[83, 186, 1, 197]);
    assert_eq!(fields.map(|field| field.nvmlReturn), [0, 0, 3, 0]);
    // SAFETY: the value types say which of the union's fields was written.
    unsafe {
        assert_eq!(fields[0].value.ullVal, gpu.total_energy_consumption().unwrap());
        assert_eq!(fields[1].value.uiVal, gpu.power_usage().unwrap());
        assert_eq!(fields[3].value.ullVal, 16_000_000_000, "4 GB/s when busy, for 40 % of 10 s");
    }
}

fn lib_fields<const N: usize>(
    node: &Node,
    gpu: &nvml_wrapper::Device,
    ids: &[u32; N],
) -> [nvmlFieldValue_t; N] {
    let get = node.nvml.lib().nvmlDeviceGetFieldValues.as_ref().unwrap();
    // SAFETY: all zeroes is a field value, and there are as many as the count says.
    unsafe {
        let mut fields = ids.map(|id| nvmlFieldValue_t { fieldId: id, ..std::mem::zeroed() });
        assert_eq!(get(gpu.handle(), N as i32, fields.as_mut_ptr()), 0);
        fields
    }
}

#[test]
fn instances_say_where_they_lie() {
    let mut scenario = Scenario::new("n");
    let cut =
        [(2, "3g.40gb"), (9, "1g.10gb"), (10, "1g.10gb")].map(|(gi, profile)| GpuInstance::new(gi, profile));
    scenario.gpus.push(Gpu::new("h100").with_mig(cut.to_vec()));
    let node = Node::new(scenario);
    let (lib, gpu) = (node.nvml.lib(), node.gpu(0));
    let instances = lib.nvmlDeviceGetGpuInstances.as_ref().unwrap();
    let info = lib.nvmlGpuInstanceGetInfo.as_ref().unwrap();
    let profile = gpu.profile_info(0).unwrap();
    // SAFETY: there is room for as many instances as the profile can have.
    let seen = unsafe {
        let (mut room, mut count) = ([ptr::null_mut(); 7], 7);
        assert_eq!(instances(gpu.handle(), profile.id, room.as_mut_ptr(), &mut count), 0);
        room[..count as usize]
            .iter()
            .map(|instance| {
                let mut found = std::mem::zeroed::<nvmlGpuInstanceInfo_t>();
                assert_eq!(info(*instance, &mut found), 0);
                (found.id, found.placement.start, found.placement.size)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(seen, [(9, 3, 1), (10, 2, 1)]);
    let remaining = lib.nvmlDeviceGetGpuInstanceRemainingCapacity.as_ref().unwrap();
    let fits = |kind: u32| {
        let mut count = 77;
        // SAFETY: the count lives as long as the call.
        let answer = unsafe { remaining(gpu.handle(), gpu.profile_info(kind).unwrap().id, &mut count) };
        assert_eq!(answer, 0);
        count
    };
    assert_eq!([0, 1, 2, 3, 4].map(fits), [2, 1, 0, 0, 0], "1g, 2g, 3g, 4g and 7g beside 3g and two 1g");
}
