//! What drivers do to a collector: they are missing, don't fit, lose a GPU, are loaded anew, lie. It stays up, says why,
//! and goes on by itself.

use crate::rig::{Rig, Setup, gaps, node, uuid};
use nvidia_ml::scenario::{Event, Process, Seconds};
use schema::wire::{Batch, DeviceWindow, Reason};

/// The windows of a device.
fn windows(batches: &[Batch], uuid: &str) -> Vec<DeviceWindow> {
    let of = |batch: &Batch| -> Vec<DeviceWindow> {
        let is = |w: &&DeviceWindow| batch.devices[w.device as usize].uuid == uuid;
        batch.device_windows.iter().filter(is).cloned().collect()
    };
    batches.iter().flat_map(of).collect()
}

/// No window draws more than the product can, so no delta wrapped round below zero.
fn check_energy(windows: &[DeviceWindow]) {
    const WATTS_MAX: u64 = 700;
    let ms: i64 = windows.iter().map(|w| w.end_ms - w.start_ms).sum();
    let energy_mj: u64 = windows.iter().filter_map(|w| w.energy_mj).sum();
    assert!(energy_mj > 0, "{windows:?}");
    // A second more: what is counted begins before the first window does.
    assert!(
        energy_mj <= WATTS_MAX * u64::try_from(ms + 1000).expect("time passes"),
        "{energy_mj} mJ in {ms} ms"
    );
}

#[test]
fn a_missing_library_is_said_and_taken_up_when_it_appears() {
    let mut rig = Rig::running(&node("h100", 2), Setup { has_library: false, ..Setup::default() });
    let pid = rig.pid();
    rig.until_unready("NVML could not be initialised");
    assert!(rig.get("/readyz").is_some_and(|answer| answer.body.contains("no GPU was seen yet")));
    assert_eq!(rig.metrics().sample("slicemeter_collector_visible_gpus", &[]), Some(0.0));
    let once = rig.cli(&["once"]);
    assert_eq!(once.status.code(), Some(3), "{once:?}");
    assert!(String::from_utf8_lossy(&once.stderr).contains("--nvml-library"), "{once:?}");
    rig.install_library();
    rig.until_ready();
    assert_eq!(rig.metrics().sample("slicemeter_collector_visible_gpus", &[]), Some(2.0));
    assert_eq!((rig.pid(), rig.get("/healthz").map(|answer| answer.status)), (pid, Some(200)));
    assert!(rig.stop().success());
}

#[test]
fn a_library_that_does_not_fit_its_driver_is_said_and_tried_again() {
    let mut scenario = node("h100", 1);
    let mismatch = Event::CallError {
        gpu: None,
        function: "nvmlInit_v2".into(),
        from: Seconds::new(-60),
        to: Some(Seconds::new(5)),
        code: 18,
    };
    scenario.events.push(mismatch);
    let rig = Rig::running(&scenario, Setup::default());
    rig.until_unready("mismatch");
    assert_eq!(rig.get("/healthz").map(|answer| answer.status), Some(200));
    rig.until_ready();
}

#[test]
fn a_node_without_a_gpu_is_alive_and_says_so() {
    let rig = Rig::running(&node("h100", 0), Setup::default());
    rig.until_unready("no GPU was seen yet");
    rig.until_at_least("slicemeter_collector_ticks_total", &[], 3.0);
    assert_eq!(rig.metrics().sample("slicemeter_collector_visible_gpus", &[]), Some(0.0));
    assert_eq!(rig.get("/healthz").map(|answer| answer.status), Some(200));
}

#[test]
fn a_gpu_that_is_lost_is_out_of_service_until_it_is_back() {
    let mut scenario = node("h100", 2);
    scenario.events.push(Event::GpuLost { gpu: 1, from: Seconds::new(5), to: Some(Seconds::new(10)) });
    let mut rig = Rig::running(&scenario, Setup::default());
    rig.until_ready();
    rig.until_at_least("slicemeter_collector_device_failing", &[&uuid(1), "GpuLost"], 1.0);
    let page = rig.metrics();
    assert_eq!(page.sample("slicemeter_gpu_up", &[&uuid(0)]), Some(1.0));
    assert_eq!(page.sample("slicemeter_gpu_power_watts", &[&uuid(1)]), None, "absent, not zero");
    let dcgm = rig.get("/metrics/dcgm").expect("it answers").body;
    assert!(dcgm.contains(&uuid(0)) && !dcgm.contains(&uuid(1)), "{dcgm}");
    rig.until_at_least("slicemeter_gpu_up", &[&uuid(1)], 1.0);
    rig.until_ready();
    assert!(rig.stop().success());
    let batches = rig.spooled();
    let lost = windows(&batches, &uuid(1));
    let unavailable_ms: u64 = lost.iter().map(|w| w.unavailable_ms).sum();
    assert!((2500..=6000).contains(&unavailable_ms), "{unavailable_ms} ms");
    assert_eq!(windows(&batches, &uuid(0)).iter().map(|w| w.unavailable_ms).sum::<u64>(), 0);
    check_energy(&lost);
    check_energy(&windows(&batches, &uuid(0)));
}

#[test]
fn a_driver_that_is_loaded_anew_resets_energy_and_no_delta_is_negative() {
    let mut scenario = node("h100", 1);
    scenario.events.push(Event::DriverReload { t: Seconds::new(5) });
    let mut rig = Rig::running(&scenario, Setup::default());
    rig.until_ready();
    let name = "slicemeter_gpu_energy_joules_total";
    let before = rig.until_at_least(name, &[&uuid(0)], 1000.0);
    rig.until("the counter reset", |rig| rig.metrics().sample(name, &[&uuid(0)]).filter(|now| *now < before));
    rig.until_ready();
    let ticks = rig.metrics().sample("slicemeter_collector_ticks_total", &[]).expect("ticks");
    rig.until_at_least("slicemeter_collector_ticks_total", &[], ticks + 6.0);
    let attributed = rig.metrics().sample("slicemeter_collector_visible_gpus", &[]);
    assert_eq!(attributed, Some(1.0));
    assert!(rig.stop().success());
    let windows = windows(&rig.spooled(), &uuid(0));
    check_energy(&windows);
    assert_eq!(windows.iter().filter(|w| w.energy_reset).count(), 1, "one reset, in one window");
}

#[test]
fn process_lists_of_a_driver_that_lies_are_refused_and_no_owner_is_invented() {
    let mut scenario = node("a100-80gb", 1);
    scenario.driver_version = "535.54.03".into();
    scenario.proc_struct_535 = true;
    for pid in 1000..1004 {
        scenario.processes.push(Process::new(pid, 0).uid(pid).busy(20.0).memory_mib(1024.0));
    }
    let mut rig = Rig::running(&scenario, Setup::default());
    rig.until_unready("ProcessListUnsafe");
    rig.until_at_least("slicemeter_collector_ticks_total", &[], 8.0);
    let page = rig.metrics();
    let failing = [&*uuid(0), "ProcessListUnsafe"];
    assert_eq!(page.sample("slicemeter_collector_device_failing", &failing), Some(1.0));
    assert!(page.sample("slicemeter_gpu_power_watts", &[&uuid(0)]).is_some(), "what can be read is shown");
    assert_eq!(page.lines("slicemeter_usage_held_seconds_total", &[]).count(), 0);
    assert_eq!(page.lines("slicemeter_usage_busy_seconds_total", &["user"]).count(), 0);
    assert!(rig.stop().success());
    let batches = rig.spooled();
    assert!(batches.iter().all(|batch| batch.owners.is_empty() && batch.usage.is_empty()), "{batches:?}");
    assert!(gaps(&batches, &uuid(0), Reason::ProcessListUnsafe).1 > 1000);
    assert!(windows(&batches, &uuid(0)).iter().all(|w| w.observed_ms == 0), "not observed, which isn't free");
}
