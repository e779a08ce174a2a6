//! Utilisation: whose it is, what a missing sample means, and that the device's value isn't everybody's.

use crate::hour::{Hour, hour, node, uuid};
use nvidia_ml::scenario::{Event, GpuInstance, Mode, Process, ProcessUtilization, Seconds, Series, Wave};
use schema::wire::{BusyKind, Quality, Reason, UsageSlice};

fn wave(period_s: i64, on_s: i64, percent: f64) -> Series {
    Series::Wave(Wave { period_s: Seconds::new(period_s), on_s: Seconds::new(on_s), percent })
}

fn rows(hour: &Hour) -> impl Iterator<Item = &UsageSlice> {
    hour.batches.iter().flat_map(|batch| &batch.usage)
}

#[test]
fn sharers_get_their_own_use_and_their_sum_is_the_devices() {
    for semantics in [ProcessUtilization::MeanSinceLastSeen, ProcessUtilization::LastPeriod] {
        let mut scenario = node(&["l40s"]);
        scenario.process_utilization = semantics;
        scenario.processes = [(1, 24.0), (2, 24.0), (3, 23.0)]
            .map(|(n, busy)| Process::new(n, 0).uid(n).busy(busy).memory_mib(1000.0))
            .into();
        let hour = hour(&scenario, None);
        let busy: Vec<f64> = ["uid-1", "uid-2", "uid-3"].map(|name| hour.of(name).busy).into();
        assert!((busy.iter().sum::<f64>() - 0.71).abs() < 0.002, "never three times the device: {busy:?}");
        assert!(busy.iter().zip([0.24, 0.24, 0.23]).all(|(got, want)| (got - want).abs() < 0.01), "{busy:?}");
        let joules: f64 = ["uid-1", "uid-2", "uid-3"].map(|name| hour.of(name).joules).into_iter().sum();
        let device = hour.devices[0].energy_mj.expect("it has a counter") as f64 / 1e3;
        assert!(joules <= device + 1e-3, "power neither: {joules} of {device}");
    }
}

#[test]
fn a_process_without_a_sample_did_nothing_while_another_was_sampled() {
    let mut scenario = node(&["h200"]);
    scenario.processes = vec![
        Process::new(1, 0).uid(1).busy(wave(60, 45, 99.0)).memory_mib(2566.0),
        Process::new(2, 0).uid(2).busy(0.0).memory_mib(1542.0),
    ];
    let hour = hour(&scenario, None);
    assert_eq!((hour.of("uid-2").busy, hour.of("uid-2").unknown), (0.0, 0.0), "zero, and known to be");
    assert!((hour.of("uid-1").busy - 0.75 * 0.99).abs() < 0.01);
}

#[test]
fn a_burst_between_two_looks_counts_for_as_long_as_it_lasted() {
    let mut scenario = node(&["l40s"]);
    scenario.process_utilization = ProcessUtilization::MeanSinceLastSeen;
    scenario.processes =
        vec![Process::new(9, 0).alive(0, 3600).uid(1).busy(wave(2, 1, 80.0)).memory_mib(100.0)];
    let busy = hour(&scenario, None).of("uid-1").busy;
    assert!((busy - 0.40).abs() < 0.005, "the mean in time, neither the last sample nor the largest: {busy}");
}

#[test]
fn two_devices_whose_samples_have_other_clocks_are_both_counted() {
    let mut scenario = node(&["l40s", "l40s"]);
    scenario.processes = vec![
        Process::new(1, 0).uid(1).busy(wave(60, 30, 100.0)).memory_mib(100.0),
        Process::new(2, 1).uid(2).busy(wave(60, 30, 100.0)).memory_mib(100.0),
    ];
    // The second device answers late: its samples are older than the first's.
    scenario.events = vec![Event::CallError {
        gpu: Some(1),
        function: "nvmlDeviceGetProcessUtilization".into(),
        from: Seconds::new(100),
        to: Some(Seconds::new(130)),
        code: 6,
    }];
    let hour = hour(&scenario, None);
    for name in ["uid-1", "uid-2"] {
        assert!((hour.of(name).busy - 0.5).abs() < 0.01, "{name} {:?}", hour.of(name));
    }
}

#[test]
fn a_mig_instance_before_hopper_has_unknown_use_and_on_hopper_its_own() {
    let run = |preset: &str, profile: &str| {
        let mut scenario = node(&[preset]);
        scenario.gpus[0] = scenario.gpus[0].clone().with_mig(vec![GpuInstance::new(2, profile)]);
        scenario.processes = vec![Process::new(1, 0).on_instance(2, 0).uid(1).busy(50.0).memory_mib(1000.0)];
        hour(&scenario, None)
    };
    let ampere = run("a100-40gb", "3g.20gb");
    let share = ampere.of("uid-1");
    assert_eq!(share.busy, 0.0);
    assert!((share.unknown - 3.0 / 7.0).abs() < 1e-3, "unknown is not idle: {share:?}");
    assert!(rows(&ampere).all(|row| row.busy_ms.is_none() && row.unknown_reason() == Reason::MigPreHopper));
    let hopper = run("h100", "3g.40gb");
    assert!((hopper.of("uid-1").busy - 0.5 * 3.0 / 7.0).abs() < 0.005, "{:?}", hopper.of("uid-1"));
    assert!(
        rows(&hopper).filter(|row| row.busy_ms.is_some()).all(|row| row.busy_kind() == BusyKind::SmActive)
    );
    assert!(
        hopper.batches.iter().flat_map(|b| &b.device_windows).all(|window| window.busy_ms.is_none()),
        "the device as a whole has none under MIG, not 0"
    );
}

#[test]
fn an_mps_servers_use_is_its_clients_and_never_its_hosts() {
    let mut scenario = node(&["a100-80gb"]);
    scenario.gpus[0].mode = Mode::Mps;
    let mut server = Process::new(10, 0).name("nvidia-cuda-mps-server").uid(0).memory_mib(30.0);
    server.mps_server = true;
    let client = |pid: u32, busy: f64| {
        let mut client = Process::new(pid, 0).uid(pid).busy(busy).memory_mib(1000.0);
        client.mps_client = true;
        client
    };
    scenario.processes = vec![server, client(11, 30.0), client(12, 20.0)];
    let hour = hour(&scenario, None);
    let names: Vec<&str> = hour.owners.keys().map(String::as_str).collect();
    assert_eq!(names, ["uid-11", "uid-12"]);
    assert_eq!(hour.costs(), "uid-11 1.80, uid-12 1.80");
    assert!((hour.of("uid-11").busy - 0.3).abs() < 0.01 && (hour.of("uid-12").busy - 0.2).abs() < 0.01);
    let (used, own) = (1000.0 * 2.0, hour.of("uid-11").memory_mib + hour.of("uid-12").memory_mib);
    assert!((own - used).abs() < 1.0, "the server's memory is overhead: {own}");
}

#[test]
fn use_that_samples_do_not_divide_is_divided_by_a_stated_rule_and_flagged() {
    let mut scenario = node(&["l40s"]);
    scenario.processes = [1, 2].map(|n| Process::new(n, 0).uid(n).busy(40.0).memory_mib(100.0)).into();
    scenario.events = vec![Event::CallError {
        gpu: Some(0),
        function: "nvmlDeviceGetProcessUtilization".into(),
        from: Seconds::ZERO,
        to: None,
        code: 3,
    }];
    let hour = hour(&scenario, None);
    let (a, b) = (hour.of("uid-1").busy, hour.of("uid-2").busy);
    assert!((a + b - 0.8).abs() < 0.002 && (a - b).abs() < 0.001, "{a} {b}");
    let shared = rows(&hour).filter(|row| row.busy_ms.is_some_and(|ms| ms > 0));
    assert!(shared.into_iter().all(|row| row.busy_quality() == Quality::Estimated));
    assert_eq!(hour.devices[0].device, uuid(0));
}

#[test]
fn busy_without_a_process_is_a_ghost_and_not_its_neighbours() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.gpus[0].ghost_busy = Some(100.0.into());
    scenario.processes = vec![Process::new(1, 1).uid(1).busy(10.0).memory_mib(100.0)];
    let hour = hour(&scenario, None);
    let ghost = &hour.devices[0];
    assert!(ghost.ghost.0 as f64 / 1e9 > 0.99 && ghost.held.0 == 0, "{ghost:?}");
    assert!((hour.of("uid-1").busy - 0.1).abs() < 0.01);
}
