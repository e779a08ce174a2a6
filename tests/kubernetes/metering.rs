//! An hour of a node, from simulated hardware through the shipped collector code to batches, with Kubernetes' word on
//! who held what: held time is exact, whatever processes do.

use super::says;
use collector::absence::Before;
use collector::clock::{Clock, ManualClock};
use collector::kubernetes::{KubernetesConfig, Witness, start};
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::kubelet::{Knowledge, Kubelet};
use harness::kubernetes::{cgroup, container_id, eventually};
use nvidia_ml::scenario::{Gpu, GpuInstance, Process, Scenario};
use schema::wire::{Batch, Reason};
use serde_json::{Value, json};
use simulator::node::Cadence;
use simulator::scheduled::{ScheduledNode, Start};
use std::collections::BTreeMap;
use std::sync::Arc;

/// 2026-09-01T00:00:00Z.
const T0: i64 = 1_788_220_800_000;
const HOUR_MS: i64 = 3_600_000;

const SLICED: &str = "GPU-aaaaaaaa-3e4b-5a69-7788-99aabbccddee";
const CUT: &str = "GPU-bbbbbbbb-3e4b-5a69-7788-99aabbccddee";
const HAMI: &str = "GPU-cccccccc-3e4b-5a69-7788-99aabbccddee";
const CLAIMED: &str = "GPU-dddddddd-3e4b-5a69-7788-99aabbccddee";
const PAIR: &str = "GPU-eeeeeeee-3e4b-5a69-7788-99aabbccddee";

fn pod(name: &str, started: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("{name}-uid")},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running", "startTime": started,
            "containerStatuses": [{"name": "main", "containerID": format!("containerd://{}", container_id(name))}]}
    })
}

/// A process of a pod's container, from the kubelet's systemd driver.
fn process(pid: u32, gpu: usize, pod: &str, container: &str) -> Process {
    Process::new(pid, gpu).cgroup(&cgroup(&format!("{pod}-uid"), &container_id(container)))
}

fn scenario() -> Scenario {
    let gpu = |preset: &str, uuid: &str| Gpu { uuid: Some(uuid.into()), ..Gpu::new(preset) };
    let mut scenario = Scenario::new("n1").starting_at_us(T0 * 1000);
    let instances =
        vec![GpuInstance::new(1, "3g.40gb"), GpuInstance::new(3, "2g.20gb"), GpuInstance::new(9, "1g.10gb")];
    scenario.gpus = vec![
        gpu("l40s", SLICED),
        gpu("h100", CUT).with_mig(instances),
        gpu("a100-80gb", HAMI),
        gpu("l4", CLAIMED),
        gpu("l4", PAIR),
    ];
    scenario.processes = vec![
        process(101, 0, "ts-one", "ts-one").busy(30.0).memory_mib(1000.0),
        // It was given nothing and uses the device all the same.
        process(102, 0, "thief", "thief").busy(20.0).memory_mib(1000.0),
        process(103, 1, "mig", "mig").on_instance(1, 0).busy(50.0).memory_mib(1000.0),
        process(104, 2, "hami", "hami").alive(600, 1200).busy(80.0).memory_mib(1000.0),
        process(105, 4, "pair", "pair").busy(30.0).memory_mib(1000.0),
        process(106, 4, "pair", "pair-side").busy(10.0).memory_mib(1000.0),
    ];
    scenario
}

/// What a pod held and used.
#[derive(Debug, Default, Clone, PartialEq)]
struct Pod {
    /// Held device time in 1/840 of a millisecond, so that every share here is whole.
    held: u64,
    busy_ms: u64,
    unknown: bool,
}

fn sums(batches: &[Batch]) -> BTreeMap<String, Pod> {
    let mut sums: BTreeMap<String, Pod> = BTreeMap::new();
    for batch in batches {
        for row in &batch.usage {
            let owner = &batch.owners[row.owner.expect("nobody is a ghost here") as usize];
            let name = |key: &str| owner.attributes.iter().find(|a| a.key == key).map(|a| a.value.clone());
            let side = name("container").is_some_and(|container| container == "side");
            let pod = name("pod").unwrap_or_else(|| format!("{:?}", owner.attributes));
            let pod = sums.entry(if side { format!("{pod}/side") } else { pod }).or_default();
            let given = row.allocated_ms.expect("a scheduler was asked of every device here");
            assert_eq!(840 % row.share_den, 0, "{row:?}");
            pod.held += given * u64::from(840 / row.share_den * row.share_num);
            pod.busy_ms += row.busy_ms.unwrap_or(0);
            pod.unknown |= row.busy_ms.is_none() && row.unknown_reason() != Reason::FirstSample;
        }
    }
    sums
}

#[test]
fn an_hour_of_a_shared_node_is_held_to_the_millisecond() {
    let dir = tempfile::tempdir().expect("folder");
    let node_dir = dir.path().join("node");
    std::fs::create_dir(&node_dir).expect("folder");
    let witness = Witness::default();
    let mut node = ScheduledNode::new(Start {
        dir: &node_dir,
        cluster: "c",
        scenario: &scenario(),
        cadence: Cadence::DEFAULT,
        at_ms: T0,
        incarnation: 1,
        witness: Some(witness.clone()),
        before: Before::default(),
    })
    .expect("a node");
    let reading = node.last();
    let mig = |profile: &str| {
        let instances =
            reading.devices.iter().flat_map(|d| d.outcome.as_ref().ok()).flat_map(|g| g.mig.iter().flatten());
        instances.filter(|i| i.profile == profile).map(|i| i.uuid.clone()).next().expect("it is cut so")
    };
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.offer(SLICED, 4);
    knowledge.offer(&mig("1g.10gb"), 2);
    knowledge.give("ts-one", "main", "nvidia.com/gpu", &[format!("{SLICED}::0")]);
    knowledge.give("ts-two", "main", "nvidia.com/gpu", &[format!("{SLICED}::1"), format!("{SLICED}::3")]);
    knowledge.give("mig", "main", "nvidia.com/mig-3g.40gb", &[mig("3g.40gb")]);
    knowledge.give("mig-slot", "main", "nvidia.com/mig-1g.10gb.shared", &[format!("{}::1", mig("1g.10gb"))]);
    knowledge.give("hami", "main", "nvidia.com/gpu", &[format!("{HAMI}-4")]);
    knowledge.offer(PAIR, 2);
    knowledge.give("pair", "main", "nvidia.com/gpu", &[format!("{PAIR}::0")]);
    knowledge.give("pair", "side", "nvidia.com/gpu", &[format!("{PAIR}::1")]);
    let (start_of_hour, half_past) = ("2026-09-01T00:00:00Z", "2026-09-01T00:30:00Z");
    for name in ["ts-one", "ts-two", "thief", "mig", "mig-slot", "early"] {
        api.put(PODS, pod(name, start_of_hour));
    }
    api.put(PODS, pod("late", half_past));
    let mut quarter = pod("hami", start_of_hour);
    quarter["metadata"]["annotations"] =
        json!({"hami.io/vgpu-devices-allocated": format!("{HAMI},NVIDIA,16384,25:;")});
    api.put(PODS, quarter);
    let mut pair = pod("pair", start_of_hour);
    pair["spec"]["containers"] = json!([{"name": "main"}, {"name": "side"}]);
    let side = json!({"name": "side", "containerID": format!("containerd://{}", container_id("pair-side"))});
    pair["status"]["containerStatuses"].as_array_mut().expect("a list").push(side);
    api.put(PODS, pair);
    let dra = "/apis/resource.k8s.io/v1";
    let device = json!({"name": "gpu-3", "attributes": {"uuid": {"string": CLAIMED}}});
    api.put(
        &format!("{dra}/resourceslices"),
        json!({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com", "pool": {"name": "n1"}, "devices": [device]}}),
    );
    let result = json!({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-3"});
    let claim = json!({"metadata": {"name": "shared", "namespace": "ns"}, "status": {"allocation": {"devices": {"results": [result]}}}});
    api.put(&format!("{dra}/namespaces/ns/resourceclaims"), claim);
    knowledge.claim("early", "main", "shared", "gpu-3");
    knowledge.claim("late", "main", "shared", "gpu-3");

    let config = KubernetesConfig {
        socket: dir.path().join("kubelet.sock"),
        poll_seconds: 1,
        ..KubernetesConfig::default()
    };
    let clock = ManualClock::at(T0);
    let time = clock.clone();
    let running = start(config, "n1", Some(api.url()), &witness, &(Arc::new(move || time.wall_ms()) as _))
        .expect("starts");
    says(
        &witness,
        &[
            "early/main 1 for 1800 s",
            "early/main 1/2",
            "hami/main 1/4",
            "late/main 1/2",
            "mig-slot/main 1/2",
            "mig/main 1",
            "pair/main 1/2",
            "pair/side 1/2",
            "ts-one/main 1/4",
            "ts-two/main 1/2",
        ],
    );

    node.advance_to(T0 + HOUR_MS).expect("time passes");
    clock.advance_to(T0 + HOUR_MS);
    eventually("the last word", || (witness.board.current().known_until_ms >= T0 + HOUR_MS).then_some(()));
    let batches = node.finish();
    drop(running);

    let mut observed: BTreeMap<&str, u64> = BTreeMap::new();
    for batch in &batches {
        for window in &batch.device_windows {
            let device = &batch.devices[window.device as usize];
            *observed.entry(&device.uuid).or_default() += window.observed_ms;
        }
    }
    assert_eq!(observed.len(), 5, "whole, cut, claimed or given to nobody: every device is told of");
    assert!(observed.values().all(|ms| *ms == HOUR_MS as u64), "{observed:?}");
    let sums = sums(&batches);
    let hour = HOUR_MS as u64;
    let held: BTreeMap<&str, u64> = sums.iter().map(|(name, pod)| (name.as_str(), pod.held)).collect();
    let want = [
        ("early", hour * 840 * 3 / 4),
        ("hami", hour * 840 / 4),
        ("late", hour * 840 / 4),
        ("mig", hour * 840 * 3 / 7),
        ("mig-slot", hour * 840 / 14),
        ("pair", hour * 840 / 2),
        ("pair/side", hour * 840 / 2),
        ("thief", 0),
        ("ts-one", hour * 840 / 4),
        ("ts-two", hour * 840 / 2),
    ];
    assert_eq!(held, want.into());
    let busy_percent = |name: &str| (sums[name].busy_ms as f64 / HOUR_MS as f64 * 100.0).round();
    assert_eq!(
        (busy_percent("ts-one"), busy_percent("thief")),
        (30.0, 20.0),
        "who uses without being given is shown"
    );
    assert_eq!(
        (busy_percent("ts-two"), sums["ts-two"].unknown),
        (0.0, false),
        "holding without a process is known not to be busy"
    );
    assert!((busy_percent("hami") - 13.0).abs() <= 1.0, "80 % for ten minutes: {}", busy_percent("hami"));
    assert_eq!(
        (busy_percent("pair"), busy_percent("pair/side")),
        (30.0, 10.0),
        "each container used its own"
    );
}
