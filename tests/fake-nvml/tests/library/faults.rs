//! Faults that a scenario injects: errors, slow and hanging calls, lost GPUs, and the events that a driver reports.

use std::time::{Duration, Instant};

use nvidia_ml::scenario::{Event, Gpu, GpuInstance, MigLayout, Scenario, Seconds};
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;

use crate::node::Node;

fn node(events: Vec<Event>) -> Node {
    let mut scenario = Scenario::new("n");
    scenario.gpus.extend([Gpu::new("h100"), Gpu::new("h100")]);
    scenario.events = events;
    Node::new(scenario)
}

#[test]
fn a_call_answers_with_the_code_that_the_scenario_says() {
    let node = node(vec![Event::CallError {
        gpu: Some(1),
        function: "nvmlDeviceGetPowerUsage".to_owned(),
        from: Seconds::new(10),
        to: Some(Seconds::new(20)),
        code: 999,
    }]);
    for (at, fails) in [(9.0, false), (10.0, true), (20.0, false)] {
        node.at(at);
        assert!(node.gpu(0).power_usage().is_ok());
        assert_eq!(matches!(node.gpu(1).power_usage(), Err(NvmlError::Unknown)), fails, "at {at} s");
    }
}

#[test]
fn a_slow_call_takes_its_time() {
    let node = node(vec![Event::Delay {
        gpu: Some(0),
        function: "nvmlDeviceGetPowerUsage".to_owned(),
        from: Seconds::ZERO,
        to: None,
        micros: 30_000,
    }]);
    let started = Instant::now();
    node.gpu(0).power_usage().unwrap();
    assert!(started.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_hanging_call_returns_when_its_interval_is_over() {
    let node = node(vec![Event::Hang {
        gpu: Some(0),
        function: "*".to_owned(),
        from: Seconds::new(10),
        to: Some(Seconds::new(60)),
        real_ms: None,
    }]);
    let gpu = node.gpu(0);
    node.at(30.0);
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| gpu.power_usage().map(|_| node.calls("nvmlDeviceGetPowerUsage")));
        while node.calls("nvmlDeviceGetPowerUsage") == 0 {
            std::thread::yield_now();
        }
        assert!(node.gpu(1).power_usage().is_ok(), "the other GPU answers");
        node.at(59.0);
        assert!(!hanging.is_finished());
        node.at(60.0);
        hanging.join().unwrap().unwrap();
    });
}

#[test]
fn a_hang_may_end_by_real_time() {
    let node = node(vec![Event::Hang {
        gpu: Some(0),
        function: "nvmlDeviceGetPowerUsage".to_owned(),
        from: Seconds::ZERO,
        to: None,
        real_ms: Some(20),
    }]);
    let started = Instant::now();
    node.gpu(0).power_usage().unwrap();
    assert!(started.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_lost_gpu_answers_so_and_its_handles_stay_lost() {
    let node = node(vec![Event::GpuLost { gpu: 0, from: Seconds::new(10), to: Some(Seconds::new(20)) }]);
    let before = node.gpu(0);
    node.at(10.0);
    assert!(matches!(before.power_usage(), Err(NvmlError::GpuLost)));
    assert!(matches!(node.nvml.device_by_index(0), Err(NvmlError::GpuLost)));
    assert!(node.gpu(1).power_usage().is_ok());
    assert_eq!(node.nvml.device_count().unwrap(), 2);
    node.at(20.0);
    assert!(matches!(before.power_usage(), Err(NvmlError::GpuLost)));
    assert!(node.gpu(0).power_usage().is_ok());
}

#[test]
fn events_are_waited_for_in_order() {
    let mut gpu = Gpu::new("h100");
    gpu.mig =
        vec![MigLayout { from: Seconds::new(50), to: None, instances: vec![GpuInstance::new(1, "7g.80gb")] }];
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(gpu);
    let xid = |t, code| Event::Xid { gpu: 0, t: Seconds::new(t), code, gi: None };
    scenario.events.extend([xid(-5, 13), xid(70, 79), xid(30, 31)]);
    let node = Node::new(scenario);
    let set = node.nvml.create_event_set().unwrap();
    let wanted = EventTypes::CRITICAL_XID_ERROR | EventTypes::MIG_CONFIG_CHANGE;
    let set = node.gpu(0).register_events(wanted, set).unwrap();
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)), "what was before isn't reported");
    node.at(100.0);
    let seen: Vec<(EventTypes, Option<XidError>)> =
        (0..3).map(|_| set.wait(1).map(|event| (event.event_type, event.event_data)).unwrap()).collect();
    let codes: Vec<String> = seen.iter().map(|(_, data)| format!("{data:?}")).collect();
    assert_eq!(
        seen.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [EventTypes::CRITICAL_XID_ERROR, EventTypes::MIG_CONFIG_CHANGE, EventTypes::CRITICAL_XID_ERROR]
    );
    assert!(codes[0].contains("31") && codes[2].contains("79"), "{codes:?}");
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
}

#[test]
fn a_wait_ends_when_the_clock_reaches_the_event() {
    let node = node(vec![Event::Xid { gpu: 0, t: Seconds::new(10), code: 79, gi: None }]);
    let set = node.nvml.create_event_set().unwrap();
    let set = node.gpu(0).register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| node.at(10.0));
        assert!(set.wait(10_000).is_ok());
    });
}

/// A driver that doesn't answer init, and a GPU that can't be found, are faults like any other.
#[test]
fn finding_a_gpu_can_fail_for_one_gpu_alone() {
    let node = node(vec![Event::CallError {
        gpu: Some(1),
        function: "nvmlDeviceGetHandleByIndex_v2".to_owned(),
        from: Seconds::ZERO,
        to: None,
        code: 15,
    }]);
    assert!(node.nvml.device_by_index(0).is_ok());
    assert!(matches!(node.nvml.device_by_index(1), Err(NvmlError::GpuLost)));
}
