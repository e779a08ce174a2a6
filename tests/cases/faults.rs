//! What goes wrong on one device or in one call stays there.

use crate::hour::{T0, hour, node, uuid};
use nvidia_ml::scenario::{Event, GpuInstance, MigLayout, Process, Seconds};
use schema::wire::Reason;

fn failing(gpu: usize, function: &str, from_s: i64, to_s: Option<i64>, code: u32) -> Event {
    Event::CallError {
        gpu: Some(gpu),
        function: function.into(),
        from: Seconds::new(from_s),
        to: to_s.map(Seconds::new),
        code,
    }
}

#[test]
fn a_call_that_a_device_does_not_support_costs_that_figure_and_no_other() {
    let mut scenario = node(&["h100"]);
    scenario.processes = vec![Process::new(1, 0).uid(1).busy(50.0).memory_mib(100.0)];
    // GPM answers as it does on fractional vGPUs; the fan, ECC and their like aren't asked.
    scenario.events = vec![
        failing(0, "nvmlGpmSampleGet", 0, None, 3),
        failing(0, "nvmlDeviceGetTemperature", 0, None, 3),
        failing(0, "nvmlDeviceGetPowerUsage", 0, None, 3),
    ];
    let hour = hour(&scenario, None);
    let share = hour.of("uid-1");
    assert!((share.held - 1.0).abs() < 1e-6 && (share.busy - 0.5).abs() < 0.01, "{share:?}");
}

#[test]
fn an_idle_devices_missing_samples_are_no_failure() {
    let mut scenario = node(&["l40s"]);
    scenario.processes = vec![Process::new(1, 0).uid(1).busy(0.0).memory_mib(100.0)];
    let hour = hour(&scenario, None);
    assert!((hour.of("uid-1").held - 1.0).abs() < 1e-6 && hour.of("uid-1").unknown == 0.0);
    assert_eq!(hour.batches.iter().map(|batch| batch.gaps.len()).sum::<usize>(), 0);
}

#[test]
fn a_look_that_finds_no_device_keeps_the_inventory_and_is_unobserved() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.processes = vec![Process::new(1, 1).uid(1).busy(50.0).memory_mib(100.0)];
    scenario.events = vec![failing(1, "nvmlDeviceGetMemoryInfo_v2", 1000, Some(1010), 15)];
    let hour = hour(&scenario, None);
    assert_eq!(hour.devices.len(), 2);
    assert!(hour.of("uid-1").held > 0.99, "{:?}", hour.of("uid-1"));
    let reasons: Vec<Reason> = hour.batches.iter().flat_map(|b| &b.gaps).map(|gap| gap.reason()).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| *reason == Reason::GpuLost), "{reasons:?}");
}

#[test]
fn an_xid_travels_once_even_from_a_device_that_is_lost_with_it() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.processes = vec![Process::new(1, 1).alive(0, 1801).uid(1).busy(50.0).memory_mib(100.0)];
    scenario.events = vec![
        Event::Xid { gpu: 0, t: Seconds::new(600), code: 31, gi: None },
        Event::Xid { gpu: 1, t: Seconds::new(1801), code: 79, gi: None },
        Event::GpuLost { gpu: 1, from: Seconds::new(1801), to: None },
    ];
    let hour = hour(&scenario, None);
    let windows = hour.batches.iter().flat_map(|batch| batch.device_windows.iter().map(move |w| (batch, w)));
    let xids: Vec<(String, u32, i64)> = windows
        .flat_map(|(batch, window)| {
            let uuid = &batch.devices[window.device as usize].uuid;
            window.xids.iter().map(move |xid| (uuid.clone(), xid.number, (xid.at_ms - T0) / 1000))
        })
        .collect();
    assert_eq!(xids, [(uuid(0), 31, 600), (uuid(1), 79, 1805)]);
}

#[test]
fn a_list_that_grows_between_two_calls_is_read_again() {
    let mut scenario = node(&["l40s"]);
    scenario.processes =
        (1..=90).map(|n| Process::new(n, 0).uid(n % 3 + 1).busy(1.0).memory_mib(10.0)).collect();
    let hour = hour(&scenario, None);
    let held: f64 = hour.owners.values().map(|share| share.held).sum();
    assert!((held - 1.0).abs() < 1e-6, "{:?}", hour.owners);
}

#[test]
fn mig_that_is_lost_at_a_restart_of_the_driver_is_not_a_lost_card() {
    let mut scenario = node(&["a100-80gb"]);
    let instances = vec![GpuInstance::new(2, "3g.40gb")];
    scenario.gpus[0].mig =
        vec![MigLayout { from: Seconds::new(-60), to: Some(Seconds::new(1800)), instances }];
    scenario.processes = vec![
        Process::new(1, 0).on_instance(2, 0).alive(0, 1800).uid(1).busy(50.0).memory_mib(100.0),
        Process::new(2, 0).alive(1800, 3600).uid(2).busy(50.0).memory_mib(100.0),
    ];
    let hour = hour(&scenario, None);
    let device = &hour.devices[0];
    assert!(
        device.unavailable.0 as f64 / 1e9 * 3600.0 <= 10.0,
        "no more than a look at the change: {device:?}"
    );
    assert!((hour.of("uid-1").held - 0.5 * 3.0 / 7.0).abs() < 0.01, "closed where it was last seen");
    assert!((hour.of("uid-2").held - 0.5).abs() < 0.01);
}

#[test]
fn the_same_shape_made_again_under_the_same_names_is_a_new_layout() {
    let mut scenario = node(&["h100"]);
    let layout = |from: i64, to: i64| MigLayout {
        from: Seconds::new(from),
        to: Some(Seconds::new(to)),
        instances: vec![GpuInstance::new(2, "3g.40gb")],
    };
    scenario.gpus[0].mig = vec![layout(-60, 1795), layout(1805, 9999)];
    scenario.processes = vec![
        Process::new(1, 0).on_instance(2, 0).alive(0, 1795).uid(1).busy(100.0).memory_mib(100.0),
        Process::new(2, 0).on_instance(2, 0).alive(1805, 3600).uid(2).busy(20.0).memory_mib(100.0),
    ];
    let hour = hour(&scenario, None);
    let of = |name: &str| hour.of(name).busy * 7.0 / 3.0 * 3600.0;
    assert!(
        (of("uid-1") - 1795.0).abs() < 15.0 && (of("uid-2") - 359.0).abs() < 15.0,
        "{} {}",
        of("uid-1"),
        of("uid-2")
    );
}

#[test]
fn a_device_with_mig_and_one_without_on_a_node_are_both_metered() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(vec![GpuInstance::new(2, "3g.40gb")]);
    scenario.processes = vec![
        Process::new(1, 0).on_instance(2, 0).uid(1).busy(50.0).memory_mib(100.0),
        Process::new(2, 1).uid(2).busy(50.0).memory_mib(100.0),
    ];
    let hour = hour(&scenario, None);
    assert_eq!(hour.costs(), "uid-1 1.54, uid-2 3.60");
    assert_eq!(hour.platform, [("stranded", "2.06".to_owned())].into());
}
