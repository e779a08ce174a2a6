//! Identities of real machines: what nvidia-smi printed of an H100, an H200 and an L40S, idle and under load, must come
//! out of a scenario with the same processes. Figures are MiB, rounded to the nearest as nvidia-smi does.

use nvidia_ml::model::MemoryNow;
use nvidia_ml::scenario::{ComputeInstance, Gpu, GpuInstance, Process, Scenario};
use nvml_wrapper::Device;

use crate::node::Node;

/// Total, reserved, used and free.
fn printed(device: &Device) -> [u64; 4] {
    let memory = device.memory_info().unwrap();
    [memory.total, memory.reserved, memory.used, memory.free].map(MemoryNow::mib)
}

fn gpu_with(preset: &str, processes: &[(u32, f64)]) -> Node {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new(preset));
    scenario.processes.extend(processes.iter().map(|(pid, mib)| Process::new(*pid, 0).memory_mib(*mib)));
    Node::new(scenario)
}

#[test]
fn a_whole_gpu_reports_the_memory_that_real_ones_printed() {
    let h200_load = [(10291, 2566.0), (10293, 1542.0), (10309, 28234.0)];
    let h100_load = [(11327, 2566.0), (11328, 1542.0), (11345, 15690.0)];
    let l40s_load = [(20037, 538.0), (20038, 681.0)];
    for (preset, load, expected) in [
        ("h200", &[][..], [143_771, 614, 0, 143_158]),
        ("h200", &h200_load[..], [143_771, 614, 32_362, 110_796]),
        ("h100", &[][..], [81_559, 479, 0, 81_081]),
        ("h100", &h100_load[..], [81_559, 479, 19_818, 61_263]),
        ("l40s", &[][..], [46_068, 609, 0, 45_460]),
        ("l40s", &l40s_load[..], [46_068, 609, 1_235, 44_225]),
    ] {
        let node = gpu_with(preset, load);
        assert_eq!(printed(&node.gpu(0)), expected, "{preset} with {} processes", load.len());
        // What is printed adds up to within the rounding of each term; in bytes it adds up exactly.
        let memory = node.gpu(0).memory_info().unwrap();
        assert_eq!(memory.used + memory.free + memory.reserved, memory.total);
    }
}

/// Twenty MiB are no process's: a remainder, not an error.
#[test]
fn processes_sum_to_a_little_less_than_what_is_used() {
    let node = gpu_with("h200", &[(10291, 2566.0), (10293, 1542.0), (10309, 28234.0)]);
    assert_eq!(printed(&node.gpu(0))[2] - (2566 + 1542 + 28234), 20);
}

fn h100_mig() -> Gpu {
    let cut = [(2, "3g.40gb"), (3, "2g.20gb"), (9, "1g.10gb"), (10, "1g.10gb")];
    Gpu::new("h100").with_mig(cut.map(|(gi, profile)| GpuInstance::new(gi, profile)).to_vec())
}

#[test]
fn an_idle_h100_cut_by_mig_reports_what_a_real_one_printed() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(h100_mig());
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    assert_eq!(printed(&gpu), [81_559, 479, 59, 81_022]);
    let expected = [
        (2, "3g.40gb", 60, [40_448, 0, 26, 40_423]),
        (3, "2g.20gb", 32, [20_096, 0, 17, 20_080]),
        (9, "1g.10gb", 16, [9_984, 0, 9, 9_976]),
        (10, "1g.10gb", 16, [9_984, 0, 9, 9_976]),
    ];
    for (slot, (_, profile, sms, memory)) in expected.into_iter().enumerate() {
        let mig = gpu.mig_device_by_index(slot as u32).unwrap();
        assert_eq!(mig.name().unwrap(), format!("NVIDIA H100 80GB HBM3 MIG {profile}"));
        assert_eq!(mig.attributes().unwrap().multiprocessor_count, sms);
        assert_eq!(printed(&mig), memory);
    }
    // Rounding makes the instances' sum exceed the GPU's by a little.
    assert_eq!(26 + 17 + 9 + 9, printed(&gpu)[2] + 2);
}

#[test]
fn a_loaded_h100_cut_by_mig_reports_what_a_real_one_printed() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(h100_mig());
    for (pid, mib) in [(21180, 2296.0), (21181, 1272.0), (21198, 7484.0)] {
        scenario.processes.push(Process::new(pid, 0).on_instance(2, 0).memory_mib(mib).busy(30.0));
    }
    let node = Node::new(scenario);
    node.at(60.0);
    let gpu = node.gpu(0);
    assert_eq!(printed(&gpu), [81_559, 479, 11_125, 69_956]);
    assert_eq!(printed(&gpu.mig_device_by_index(0).unwrap()), [40_448, 0, 11_091, 29_357]);
    assert_eq!(printed(&gpu.mig_device_by_index(1).unwrap())[2], 17);
    let list = gpu.running_compute_processes().unwrap();
    assert!(
        list.iter()
            .all(|process| (process.gpu_instance_id, process.compute_instance_id) == (Some(2), Some(0)))
    );
    // Real pmon shows `-` for every process, and `N/A` for the GPU: there is no utilisation under MIG.
    assert!(gpu.utilization_rates().is_err());
    assert!(gpu.process_utilization_stats(None).is_err());
    assert!(gpu.power_usage().unwrap() > 100_000, "power is the whole GPU's only");
}

#[test]
fn two_compute_instances_of_one_gpu_instance_show_the_same_memory() {
    let compute = vec![
        ComputeInstance { ci: 0, slices: 1, slot: None, uuid: None },
        ComputeInstance { ci: 1, slices: 2, slot: None, uuid: None },
    ];
    let mut instances = vec![GpuInstance { compute, ..GpuInstance::new(2, "3g.71gb") }];
    instances.extend(
        [(3, "2g.35gb"), (9, "1g.18gb"), (10, "1g.18gb")].map(|(gi, name)| GpuInstance::new(gi, name)),
    );
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h200").with_mig(instances));
    let idle = Node::new(scenario.clone());
    assert_eq!(printed(&idle.gpu(0))[2], 55);
    for (pid, mib) in [(12249, 2194.0), (12250, 1170.0), (12267, 13526.0)] {
        scenario.processes.push(Process::new(pid, 0).on_instance(2, 1).memory_mib(mib));
    }
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    assert_eq!(printed(&gpu), [143_771, 614, 16_959, 126_199]);
    for (slot, name, sms) in [(0, "1c.3g.71gb", 16), (1, "2c.3g.71gb", 32)] {
        let mig = gpu.mig_device_by_index(slot).unwrap();
        assert_eq!(printed(&mig), [71_424, 0, 16_925, 54_499]);
        assert_eq!(mig.name().unwrap(), format!("NVIDIA H200 MIG {name}"));
        assert_eq!(mig.attributes().unwrap().multiprocessor_count, sms);
    }
    // Each compute instance lists its own processes.
    assert_eq!(gpu.mig_device_by_index(0).unwrap().running_compute_processes().unwrap().len(), 0);
    assert_eq!(gpu.mig_device_by_index(1).unwrap().running_compute_processes().unwrap().len(), 3);
}

#[test]
fn an_idle_h200_draws_what_a_real_one_does() {
    assert_eq!(gpu_with("h200", &[]).gpu(0).power_usage().unwrap(), 77_670);
}

/// Accounting was off in eight of ten captures.
#[test]
fn accounting_is_off() {
    let node = gpu_with("h100", &[(1, 10.0)]);
    assert!(!node.gpu(0).is_accounting_enabled().unwrap());
    assert!(node.gpu(0).accounting_stats_for(1).is_err());
}
