//! MIG: sparse slots, handles that die with their layout, and GPM.

use nvidia_ml::scenario::{
    ComputeInstance, Gpu, GpuInstance, MigHandlePower, MigLayout, Process, Scenario, Seconds,
};
use nvidia_ml::truth::truth;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};

use crate::node::{Node, START_US, at_us};

/// 3g in slot 0, nothing in 1 to 3, 2g in slot 4.
fn sparse(preset: &str, wide: &str, narrow: &str) -> Gpu {
    Gpu::new(preset).with_mig(vec![
        GpuInstance { slot: Some(0), ..GpuInstance::new(2, wide) },
        GpuInstance { slot: Some(4), ..GpuInstance::new(3, narrow) },
    ])
}

#[test]
fn slots_may_be_sparse() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(sparse("h100", "3g.40gb", "2g.20gb"));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    assert_eq!(gpu.mig_device_count().unwrap(), 7, "the most there can be, not how many there are");
    for slot in 0..7 {
        match gpu.mig_device_by_index(slot) {
            Ok(mig) => {
                assert!([0, 4].contains(&slot));
                assert_eq!(mig.index().unwrap(), slot);
                let again = node.nvml.device_by_uuid(mig.uuid().unwrap()).unwrap();
                assert_eq!(again.name().unwrap(), mig.name().unwrap());
                assert_eq!(mig.mig_parent_device().unwrap().uuid().unwrap(), gpu.uuid().unwrap());
            }
            Err(error) => assert!(matches!(error, NvmlError::NotFound), "slot {slot}: {error}"),
        }
    }
}

#[test]
fn an_a30_has_four_slots_and_a_t4_none() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("a30").with_mig(vec![GpuInstance::new(1, "2g.12gb")]));
    scenario.gpus.push(Gpu::new("t4"));
    let node = Node::new(scenario);
    assert_eq!(node.gpu(0).mig_device_count().unwrap(), 4);
    assert_eq!(node.gpu(1).mig_device_count().unwrap(), 0);
    assert!(matches!(node.gpu(1).mig_mode(), Err(NvmlError::NotSupported)));
}

#[test]
fn handles_die_with_their_layout_and_names_are_used_again() {
    let layout = |from: i64, to: Option<i64>, profiles: &[(u32, &str)]| MigLayout {
        from: Seconds::new(from),
        to: to.map(Seconds::new),
        instances: profiles.iter().map(|(gi, profile)| GpuInstance::new(*gi, profile)).collect(),
    };
    let mut gpu = Gpu::new("a100-40gb");
    gpu.mig =
        vec![layout(0, Some(100), &[(1, "4g.20gb"), (2, "3g.20gb")]), layout(160, None, &[(1, "7g.40gb")])];
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(gpu);
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    let before = gpu.mig_device_by_index(0).unwrap();
    assert_eq!(before.name().unwrap(), "NVIDIA A100-SXM4-40GB MIG 4g.20gb");
    node.at(130.0);
    assert_eq!(gpu.mig_mode().unwrap().current, 0, "off between two layouts");
    assert!(gpu.utilization_rates().is_ok());
    assert!(matches!(before.memory_info(), Err(NvmlError::InvalidArg)));
    node.at(160.0);
    assert!(matches!(before.memory_info(), Err(NvmlError::InvalidArg)), "slot 0 is another device now");
    assert_eq!(gpu.mig_device_by_index(0).unwrap().name().unwrap(), "NVIDIA A100-SXM4-40GB MIG 7g.40gb");
    let instances = truth(&node.scenario, START_US, at_us(200.0)).instances;
    let spans: Vec<(&str, i64)> =
        instances.iter().map(|mig| (mig.profile.as_str(), (mig.to_us - mig.from_us) / 1_000_000)).collect();
    assert_eq!(spans, [("4g.20gb", 100), ("3g.20gb", 100), ("7g.40gb", 40)]);
}

/// Mean SM utilisation of the first ten seconds, by two samples.
fn mean<'n>(node: &'n Node, take: impl Fn() -> GpmSample<'n>) -> f64 {
    node.at(0.0);
    let first = take();
    node.at(10.0);
    let second = take();
    let metrics = gpm_metrics_get(&node.nvml, &first, &second, &[GpmMetricId::SmUtil]).unwrap();
    metrics.into_iter().next().unwrap().unwrap().value
}

#[test]
fn gpm_gives_the_exact_mean_of_an_instance_and_of_each_of_its_parts() {
    let compute = |ci, slices| ComputeInstance { ci, slices, slot: None, uuid: None };
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("h100").with_mig(vec![
        GpuInstance { compute: vec![compute(0, 1), compute(1, 2)], ..GpuInstance::new(2, "3g.40gb") },
        GpuInstance::new(3, "2g.20gb"),
    ]));
    let steps = vec![(Seconds::new(0), 90.0), (Seconds::new(5), 30.0)];
    scenario.processes.push(Process::new(10, 0).on_instance(2, 0).busy(steps));
    scenario.processes.push(Process::new(11, 0).on_instance(3, 0).busy(12.345));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    let close =
        |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
    close(mean(&node, || gpu.gpm_mig_sample(3).unwrap()), 12.345);
    close(mean(&node, || gpu.gpm_mig_sample(2).unwrap()), 20.0);
    close(mean(&node, || gpu.mig_device_by_index(0).unwrap().gpm_sample().unwrap()), 60.0);
    close(mean(&node, || gpu.mig_device_by_index(1).unwrap().gpm_sample().unwrap()), 0.0);
    assert!(gpu.gpm_mig_sample(5).is_err(), "no such instance");
    let truth = truth(&node.scenario, START_US, at_us(10.0));
    assert_eq!(
        truth.processes[0].busy_us, 2_000_000,
        "a third of its own time, in time of the whole instance"
    );
    assert_eq!(truth.processes[1].busy_us, 1_234_500);
}

#[test]
fn before_hopper_there_is_no_gpm() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(sparse("a100-80gb", "3g.40gb", "2g.20gb"));
    let node = Node::new(scenario);
    assert!(!node.gpu(0).gpm_support().unwrap());
    assert!(matches!(node.gpu(0).gpm_mig_sample(2), Err(NvmlError::NotSupported)));
}

#[test]
fn energy_on_a_mig_handle_is_what_the_scenario_says() {
    let answer = |choice| {
        let mut scenario = Scenario::new("n");
        scenario.mig_handle_power = choice;
        scenario.gpus.push(sparse("h100", "3g.40gb", "2g.20gb"));
        let node = Node::new(scenario);
        let parent = node.gpu(0).total_energy_consumption().unwrap();
        (parent, node.gpu(0).mig_device_by_index(4).unwrap().total_energy_consumption())
    };
    assert!(matches!(answer(MigHandlePower::NotSupported).1, Err(NvmlError::NotSupported)));
    let (parent, through_mig) = answer(MigHandlePower::Parent);
    assert_eq!(through_mig.unwrap(), parent);
}
