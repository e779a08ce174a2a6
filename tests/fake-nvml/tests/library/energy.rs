//! Energy: the counter is the exact integral of power, and a driver load starts it anew.

use nvidia_ml::scenario::{Event, Gpu, GpuInstance, Process, Scenario, Seconds};
use nvidia_ml::truth::truth;
use nvml_wrapper::error::NvmlError;

use crate::node::{Node, START_US, at_us};

#[test]
fn the_counter_is_the_integral_of_power() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    scenario.processes.push(Process::new(1, 0).alive(10, 20).busy(50.0));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    let before = gpu.total_energy_consumption().unwrap();
    assert_eq!(gpu.power_usage().unwrap(), 69_850);
    node.at(15.0);
    assert_eq!(gpu.power_usage().unwrap(), 69_850 + (700_000 - 69_850) / 2);
    node.at(30.0);
    // 30 s idle at 69.85 W and 10 s of half of what is above it.
    assert_eq!(gpu.total_energy_consumption().unwrap() - before, 30 * 69_850 + 10 * (700_000 - 69_850) / 2);
}

#[test]
fn the_truth_is_what_the_counter_shows_over_any_windows() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(
        Gpu::new("h100").with_mig(vec![GpuInstance::new(1, "4g.40gb"), GpuInstance::new(2, "3g.40gb")]),
    );
    let steps: Vec<(Seconds, f64)> = (0..50)
        .map(|step| (Seconds::from_micros(step * 333_333), (step * 37 % 100) as f64 + 0.123))
        .collect();
    scenario.processes.push(Process::new(1, 0).on_instance(1, 0).busy(steps));
    scenario.processes.push(Process::new(2, 0).on_instance(2, 0).busy(66.6));
    let node = Node::new(scenario);
    let counter = |seconds: f64| node.at(seconds).gpu(0).total_energy_consumption().unwrap();
    let cuts = [0.0, 1.7, 4.000_001, 9.5, 20.0];
    for cut in cuts.windows(2) {
        let truth = truth(&node.scenario, at_us(cut[0]), at_us(cut[1]));
        assert_eq!(counter(cut[1]) - counter(cut[0]), truth.gpus[0].energy_mj, "{cut:?}");
    }
    let parts: u64 = cuts
        .windows(2)
        .map(|cut| truth(&node.scenario, at_us(cut[0]), at_us(cut[1])).processes[0].busy_us)
        .sum();
    assert_eq!(parts, truth(&node.scenario, START_US, at_us(20.0)).processes[0].busy_us);
}

#[test]
fn a_driver_load_starts_the_counter_anew_and_ends_the_session() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100"));
    scenario.events.push(Event::DriverReload { t: Seconds::new(100) });
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    assert!(gpu.total_energy_consumption().unwrap() > 6_000_000_000);
    node.at(103.0);
    assert!(matches!(gpu.total_energy_consumption(), Err(NvmlError::Uninitialized)));
    let again = nvml_wrapper::Nvml::builder().lib_path(node.library_path().as_os_str()).init().unwrap();
    assert_eq!(again.device_by_index(0).unwrap().total_energy_consumption().unwrap(), 3 * 69_850);
}

#[test]
fn before_volta_there_is_no_energy_counter() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("p100"));
    let node = Node::new(scenario);
    assert!(matches!(node.gpu(0).total_energy_consumption(), Err(NvmlError::NotSupported)));
    assert!(node.gpu(0).power_usage().is_ok());
}
