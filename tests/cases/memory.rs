//! Memory: what is whose, counted once, and never a blank taken for a number.

use crate::hour::{Hour, hour, node};
use nvidia_ml::scenario::{ComputeInstance, GpuInstance, Process};

fn device_mib(hour: &Hour) -> f64 {
    let byte_ms: u64 =
        hour.batches.iter().flat_map(|b| &b.device_windows).filter_map(|w| w.memory_byte_ms).sum();
    byte_ms as f64 / f64::from(1 << 20) / 3_600_000.0
}

#[test]
fn processes_sum_to_a_little_less_than_is_used_and_the_rest_is_nobodys() {
    let mut scenario = node(&["h200"]);
    scenario.processes = [(1, 2566.0), (2, 1542.0), (3, 28_234.0)]
        .map(|(n, mib)| Process::new(n, 0).uid(n).busy(10.0).memory_mib(mib))
        .into();
    let hour = hour(&scenario, None);
    for (name, mib) in [("uid-1", 2566.0), ("uid-2", 1542.0), ("uid-3", 28_234.0)] {
        assert!((hour.of(name).memory_mib - mib).abs() < 1.0, "{name}: {:?}", hour.of(name));
    }
    let rest = device_mib(&hour) - 32_342.0;
    assert!(
        (0.0..200.0).contains(&rest),
        "what no process has, and what the driver keeps isn't in it: {rest}"
    );
}

#[test]
fn a_blank_is_unknown_and_is_summed_with_nothing() {
    let mut scenario = node(&["l40s"]);
    let mut blank = Process::new(1, 0).uid(1).busy(10.0);
    blank.memory_unavailable = true;
    scenario.processes = vec![blank, Process::new(2, 0).uid(2).busy(10.0).memory_mib(500.0)];
    let hour = hour(&scenario, None);
    assert_eq!(hour.of("uid-1").memory_mib, 0.0);
    assert!((hour.of("uid-2").memory_mib - 500.0).abs() < 1.0);
    let known = |uid: &str| {
        hour.batches.iter().all(|batch| {
            let is = |at: u32| {
                batch.owners[at as usize].attributes.iter().any(|a| a.key == "uid" && a.value == uid)
            };
            batch.usage.iter().filter(|row| row.owner.is_some_and(is)).all(|row| row.memory_byte_ms.is_some())
        })
    };
    assert_eq!((known("1"), known("2")), (false, true));
}

#[test]
fn a_context_without_memory_has_managed_memory_that_is_unknown_and_not_zero() {
    let mut scenario = node(&["h200"]);
    scenario.processes = vec![Process::new(1, 0).uid(1).busy(60.0).memory_mib(0.0)];
    let hour = hour(&scenario, None);
    let rows: Vec<_> = hour.batches.iter().flat_map(|b| &b.usage).filter(|row| row.owner.is_some()).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.memory_byte_ms.is_none()), "{rows:?}");
    assert!((hour.of("uid-1").busy - 0.6).abs() < 0.01, "what else is known of it stays known");
}

#[test]
fn a_process_on_two_lists_has_its_memory_once() {
    let mut scenario = node(&["l40s"]);
    let mut both = Process::new(4242, 0).uid(1).busy(10.0).memory_mib(500.0);
    both.graphics = true;
    scenario.processes = vec![both];
    assert!((hour(&scenario, None).of("uid-1").memory_mib - 500.0).abs() < 1.0);
}

#[test]
fn a_gpu_instances_memory_is_its_own_and_its_processes_are_not_counted_again_on_the_device() {
    let mut scenario = node(&["h100"]);
    let instances = [(2, "3g.40gb"), (3, "2g.20gb"), (9, "1g.10gb"), (10, "1g.10gb")];
    let instances = instances.map(|(gi, profile)| GpuInstance::new(gi, profile)).into();
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(instances);
    scenario.processes = [(1, 2296.0), (2, 1272.0), (3, 7484.0)]
        .map(|(n, mib)| Process::new(n, 0).on_instance(2, 0).uid(n).busy(20.0).memory_mib(mib))
        .into();
    let hour = hour(&scenario, None);
    let own: f64 = ["uid-1", "uid-2", "uid-3"].map(|name| hour.of(name).memory_mib).into_iter().sum();
    assert!((own - 11_052.0).abs() < 3.0, "{own}");
    assert!((0.0..300.0).contains(&(device_mib(&hour) - own)), "never negative: {}", device_mib(&hour));
}

#[test]
fn two_compute_instances_of_one_gpu_instance_do_not_double_its_memory() {
    let mut scenario = node(&["h200"]);
    let mut shared = GpuInstance::new(2, "3g.71gb");
    let part = |ci, slices| ComputeInstance { ci, slices, slot: None, uuid: None };
    shared.compute = vec![part(0, 1), part(1, 2)];
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(vec![shared]);
    scenario.processes = vec![
        Process::new(1, 0).on_instance(2, 0).uid(1).busy(20.0).memory_mib(6000.0),
        Process::new(2, 0).on_instance(2, 1).uid(2).busy(20.0).memory_mib(10_000.0),
    ];
    let hour = hour(&scenario, None);
    let (one, two) = (hour.of("uid-1"), hour.of("uid-2"));
    assert!((one.memory_mib + two.memory_mib - 16_000.0).abs() < 2.0, "{one:?} {two:?}");
    assert!(device_mib(&hour) < 16_500.0, "once: {}", device_mib(&hour));
    assert!(
        (one.held - 1.0 / 7.0).abs() < 1e-3 && (two.held - 2.0 / 7.0).abs() < 1e-3,
        "each holds its slices"
    );
}
