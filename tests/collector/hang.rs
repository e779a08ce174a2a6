//! Law 10: a call that hangs costs its device, never a scrape, and never more than a few threads.

use crate::rig::{Rig, Setup, gaps, node, uuid};
use nvidia_ml::scenario::{Event, Seconds};
use schema::wire::Reason;
use std::cell::Cell;
use std::time::{Duration, Instant};

fn hang(gpu: Option<usize>, function: &str, from: i64, to: i64) -> Event {
    let (from, to) = (Seconds::new(from), Some(Seconds::new(to)));
    Event::Hang { gpu, function: function.into(), from, to, real_ms: None }
}

/// Threads of the collector that call NVML.
fn nvml_threads(pid: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let names = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "nvml").count()
}

#[test]
fn a_call_that_hangs_costs_its_device_and_delays_no_scrape() {
    let mut scenario = node("h100", 3);
    // Far longer than any scrape may take, so that one that waited would be seen to; every call, so that a successor
    // must not even look for the device.
    scenario.events.push(hang(Some(1), "*", 5, 16));
    let mut rig = Rig::running(&scenario, Setup::default());
    rig.until_ready();
    let slowest = Cell::new(Duration::ZERO);
    let scrape = |rig: &Rig| {
        let asked = Instant::now();
        let page = rig.metrics();
        slowest.set(slowest.get().max(asked.elapsed()));
        page
    };
    rig.until("the device set aside", |rig| {
        scrape(rig).sample("slicemeter_collector_device_failing", &[&uuid(1), "CallHung"])
    });
    let before = rig.metrics();
    assert_eq!(before.sample("slicemeter_collector_parked_threads", &[]), Some(1.0));
    assert!(nvml_threads(rig.pid()) <= 2, "the thread that hangs, and its successor");
    let ticks = before.sample("slicemeter_collector_ticks_total", &[]).expect("ticks");
    rig.until_at_least("slicemeter_collector_ticks_total", &[], ticks + 4.0);
    for _ in 0..20 {
        let page = scrape(&rig);
        assert_eq!(page.sample("slicemeter_gpu_up", &[&uuid(0)]), Some(1.0));
        assert_eq!(page.sample("slicemeter_gpu_up", &[&uuid(1)]), Some(0.0));
        assert_eq!(page.sample("slicemeter_gpu_up", &[&uuid(2)]), Some(1.0));
    }
    assert!(slowest.get() < Duration::from_millis(1500), "a scrape took {:?}", slowest.get());
    rig.until_at_least("slicemeter_gpu_up", &[&uuid(1)], 1.0);
    rig.until("no thread parked", |rig| {
        (rig.metrics().sample("slicemeter_collector_parked_threads", &[]) == Some(0.0)).then_some(())
    });
    rig.until("one thread", |rig| (nvml_threads(rig.pid()) == 1).then_some(()));
    rig.until_ready();
    assert!(rig.stop().success());
    let batches = rig.spooled();
    assert!(
        gaps(&batches, &uuid(1), Reason::CallHung).1 > 3000,
        "the hung device's time is a gap with its reason"
    );
    for other in [0, 2] {
        assert_eq!(gaps(&batches, &uuid(other), Reason::CallHung), (0, 0));
    }
}

#[test]
fn when_every_call_hangs_a_few_threads_wait_and_no_more_are_started() {
    let mut scenario = node("h100", 2);
    scenario.events.push(hang(None, "*", 4, 14));
    let sample = "gauges_ms = 250\nprocesses_ms = 250\nwindow_ms = 1000\ncall_deadline_ms = 400";
    let mut rig = Rig::running(&scenario, Setup { sample, ..Setup::default() });
    rig.until_ready();
    rig.until_unready("threads are stuck in the driver");
    assert_eq!(rig.metrics().sample("slicemeter_collector_parked_threads", &[]), Some(3.0));
    assert_eq!(nvml_threads(rig.pid()), 3);
    for index in 0..2 {
        let failing = ["CallHung", &uuid(index)];
        assert_eq!(rig.metrics().sample("slicemeter_collector_device_failing", &failing), Some(1.0));
    }
    let released = rig.cli(&["release"]);
    assert_eq!(released.status.code(), Some(1), "what a call that hangs holds can't be let go of");
    assert!(String::from_utf8_lossy(&released.stderr).contains("still holds"), "{released:?}");
    assert!(rig.cli(&["release", "--resume"]).status.success());
    rig.until_ready();
    rig.until("one thread", |rig| (nvml_threads(rig.pid()) == 1).then_some(()));
    assert_eq!(rig.metrics().sample("slicemeter_collector_parked_threads", &[]), Some(0.0));
    assert!(rig.stop().success());
}
