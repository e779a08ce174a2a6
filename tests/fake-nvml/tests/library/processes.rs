//! Process lists: who is in which, and the struct that drivers 535.43 to 535.86 had.

use nvidia_ml::scenario::{Gpu, Mode, Process, Scenario};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use crate::node::Node;

const MIB: u64 = 1024 * 1024;

fn pids(list: &[ProcessInfo]) -> Vec<u32> {
    list.iter().map(|process| process.pid).collect()
}

#[test]
fn processes_come_and_go_with_the_clock() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    scenario.processes.push(Process::new(1, 0).alive(0, 10).memory_mib(100.0));
    scenario.processes.push(Process::new(2, 0).alive(5, 20).memory_mib(200.0));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    for (at, expected, used_mib) in [
        (0.0, vec![1], 120),
        (5.0, vec![1, 2], 320),
        (9.999_999, vec![1, 2], 320),
        (10.0, vec![2], 220),
        (20.0, vec![], 0),
    ] {
        node.at(at);
        assert_eq!(pids(&gpu.running_compute_processes().unwrap()), expected, "at {at} s");
        assert_eq!(gpu.memory_info().unwrap().used, used_mib * MIB, "at {at} s");
    }
}

#[test]
fn a_process_is_in_the_lists_that_the_scenario_says() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu { mode: Mode::Mps, ..Gpu::new("h100") });
    scenario.processes.push(Process { mps_server: true, ..Process::new(1, 0) });
    scenario.processes.push(Process { mps_client: true, ..Process::new(2, 0) });
    scenario.processes.push(Process { graphics: true, memory_unavailable: true, ..Process::new(3, 0) });
    scenario.processes.push(Process { graphics_only: true, ..Process::new(4, 0) });
    let in_compute = |shown: bool| {
        let mut scenario = scenario.clone();
        scenario.gpus[0].mps_clients_in_compute_list = shown;
        let node = Node::new(scenario);
        let gpu = node.gpu(0);
        assert_eq!(pids(&gpu.running_graphics_processes().unwrap()), [3, 4]);
        assert_eq!(pids(&gpu.mps_running_compute_processes().unwrap()), [2]);
        gpu.running_compute_processes().unwrap()
    };
    assert_eq!(pids(&in_compute(true)), [1, 2, 3]);
    let list = in_compute(false);
    assert_eq!(pids(&list), [1, 3]);
    assert_eq!(list[1].used_gpu_memory, UsedGpuMemory::Unavailable);
    assert_eq!((list[0].gpu_instance_id, list[0].compute_instance_id), (None, None));
}

#[test]
fn the_535_driver_answers_with_wider_structs_under_the_same_name() {
    let mut scenario = Scenario::new("n");
    scenario.proc_struct_535 = true;
    scenario.gpus.push(Gpu::new("h100"));
    scenario.processes.extend((1000..1004).map(|pid| Process::new(pid, 0).memory_mib(1.0)));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    let seen = pids(&gpu.running_compute_processes().unwrap());
    assert_eq!(seen[0], 1000);
    assert_ne!(seen, [1000, 1001, 1002, 1003], "a reader of 24 bytes misreads 32");
    // What a guard goes by: the first answers, the second doesn't exist.
    assert_eq!(raw(&node, "nvmlDeviceGetConfComputeMemSizeInfo"), 0);
    assert_eq!(raw(&node, "nvmlDeviceGetRunningProcessDetailList"), 13);
}

/// Calls a function about GPU 0 with one zeroed struct.
#[allow(unsafe_code, reason = "a function that nvml-wrapper doesn't wrap")]
fn raw(node: &Node, name: &str) -> u32 {
    let mut room = [0u64; 64];
    // SAFETY: both functions take a device and a pointer to a struct that fits the room.
    unsafe {
        let function = node
            .library
            .get::<unsafe extern "C" fn(*mut std::ffi::c_void, *mut u64) -> u32>(name.as_bytes())
            .expect("exported");
        function(node.gpu(0).handle().cast(), room.as_mut_ptr())
    }
}

/// A read takes about a microsecond and a list of 350 processes less than 50; the limits here leave room for a slow
/// machine and for a build without optimisation.
#[test]
fn answers_are_quick() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    scenario.processes.extend((1..=350).map(|pid| Process::new(pid, 0).busy(0.1).memory_mib(10.0)));
    let node = Node::new(scenario);
    node.at(10.0);
    let gpu = node.gpu(0);
    let micros = |count: u32, call: &dyn Fn()| {
        let best = (0..20).map(|_| {
            let start = std::time::Instant::now();
            (0..count).for_each(|_| call());
            start.elapsed().as_secs_f64() * 1e6 / f64::from(count)
        });
        best.fold(f64::INFINITY, f64::min)
    };
    let read = micros(1000, &|| assert!(gpu.power_usage().is_ok()));
    let list = micros(20, &|| assert_eq!(gpu.running_compute_processes().unwrap().len(), 350));
    println!("read {read:.2} us, list of 350 {list:.1} us");
    assert!(read < 5.0, "a read took {read} us");
    assert!(list < 250.0, "a list of 350 took {list} us");
}
