//! What shared devices cost: the parts always add up to the device, whoever shares it in whichever way.

use crate::hour::{Cluster, hour, node, process, uuid};
use nvidia_ml::scenario::{ComputeInstance, Event, GpuInstance, MigLayout, Process, Scenario, Seconds};
use schema::wire::Reason;
use serde_json::json;

const GPU: &str = "nvidia.com/gpu";

fn slot(device: usize, slot: u32) -> Vec<String> {
    vec![format!("{}::{slot}", uuid(device))]
}

/// `MIG-` UUIDs are the scenario's: named here so that a kubelet can give them.
fn mig(profiles: &[(u32, &str, &str)]) -> Vec<GpuInstance> {
    let instance = |(gi, profile, uuid): &(u32, &str, &str)| {
        let mut instance = GpuInstance::new(*gi, profile);
        let slices = profile.split('g').next().and_then(|n| n.parse().ok()).expect("a profile's slices");
        instance.compute =
            vec![ComputeInstance { ci: 0, slices, slot: None, uuid: Some((*uuid).to_owned()) }];
        instance
    };
    profiles.iter().map(instance).collect()
}

fn mig_uuid(n: u32) -> String {
    format!("MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b5{n}")
}

#[test]
fn four_pods_on_one_time_sliced_card_cost_the_card_once() {
    let scenario = node(&["l40s"]);
    let cluster = (0..4).fold(Cluster::default().slots(&uuid(0), 4), |cluster, n| {
        cluster.pod(&format!("pod-{n}"), GPU, &slot(0, n))
    });
    let hour = hour(&scenario, Some(cluster));
    assert_eq!(hour.costs(), "pod-0 0.90, pod-1 0.90, pod-2 0.90, pod-3 0.90");
    assert_eq!(hour.total, "3.60");
}

#[test]
fn one_slot_of_four_under_the_shared_resources_name_costs_a_quarter_and_the_rest_is_free() {
    let cluster = Cluster::default().slots(&uuid(0), 4).pod("lone", "nvidia.com/gpu.shared", &slot(0, 2));
    let hour = hour(&node(&["l40s"]), Some(cluster));
    assert_eq!((hour.costs().as_str(), hour.platform["free"].as_str()), ("lone 0.90", "2.70"));
}

#[test]
fn cards_of_one_node_are_divided_by_their_own_number_of_slots() {
    let cluster = Cluster::default().slots(&uuid(0), 4).slots(&uuid(1), 2);
    let cluster = cluster.pod("quarter", GPU, &slot(0, 0)).pod("half", GPU, &slot(1, 0));
    assert_eq!(hour(&node(&["l40s", "l40s"]), Some(cluster)).costs(), "half 1.80, quarter 0.90");
}

#[test]
fn mig_instances_cost_their_slices_and_together_the_card() {
    let mut scenario = node(&["h100"]);
    let uuids: Vec<String> = (1..4).map(mig_uuid).collect();
    let profiles = [(9, "1g.10gb", &*uuids[0]), (5, "2g.20gb", &uuids[1]), (1, "4g.40gb", &uuids[2])];
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(mig(&profiles));
    let cluster = ["one", "two", "four"].iter().zip(profiles).fold(
        Cluster::default(),
        |cluster, (pod, (_, profile, uuid))| {
            cluster.pod(pod, &format!("nvidia.com/mig-{profile}"), &[uuid.to_owned()])
        },
    );
    let hour = hour(&scenario, Some(cluster));
    assert_eq!(hour.costs(), "four 2.06, one 0.51, two 1.03");
    assert_eq!(hour.total, "3.60");
}

#[test]
fn one_of_seven_instances_under_the_plain_name_is_not_a_whole_card() {
    let mut scenario = node(&["h100"]);
    let uuids: Vec<String> = (0..7).map(mig_uuid).collect();
    let profiles: Vec<(u32, &str, &str)> =
        (7..14).zip(&uuids).map(|(gi, uuid)| (gi, "1g.10gb", uuid.as_str())).collect();
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(mig(&profiles));
    let hour = hour(&scenario, Some(Cluster::default().pod("single", GPU, &[uuids[3].clone()])));
    assert_eq!((hour.costs().as_str(), hour.platform["free"].as_str()), ("single 0.51", "3.09"));
}

#[test]
fn a_fractional_schedulers_quarter_costs_a_quarter() {
    let cluster = Cluster::default().pod("hami", GPU, &[format!("{}-4", uuid(0))]).annotated(
        "hami",
        "hami.io/vgpu-devices-allocated",
        &format!("{},NVIDIA,8192,25:;", uuid(0)),
    );
    let hour = hour(&node(&["l40s"]), Some(cluster));
    assert_eq!((hour.costs().as_str(), hour.platform["free"].as_str()), ("hami 0.90", "2.70"));
}

fn claim_of(device: &str) -> (String, serde_json::Value) {
    let result = json!({"driver": "gpu.nvidia.com", "pool": "n1", "device": device});
    let claim = json!({"metadata": {"name": "shared", "namespace": "ns"}, "status": {"allocation": {"devices": {"results": [result]}}}});
    ("/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims".to_owned(), claim)
}

#[test]
fn a_claim_is_a_card_however_many_pods_share_it() {
    let slice = json!({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com", "pool": {"name": "n1"},
        "devices": [{"name": "gpu-0", "attributes": {"uuid": {"string": uuid(0)}}}]}});
    let with = |pods: &[&str]| {
        let (path, claim) = claim_of("gpu-0");
        let cluster = Cluster::default()
            .object("/apis/resource.k8s.io/v1/resourceslices", slice.clone())
            .object(&path, claim);
        pods.iter().fold(cluster, |cluster, pod| cluster.pod(pod, GPU, &[]).claim(pod, "shared", "gpu-0"))
    };
    assert_eq!(hour(&node(&["l4"]), Some(with(&["alone"]))).costs(), "alone 3.60");
    assert_eq!(hour(&node(&["l4"]), Some(with(&["a", "b"]))).costs(), "a 1.80, b 1.80");
}

#[test]
fn slots_given_twice_are_scaled_to_the_card_and_marked_never_clamped() {
    // A plug-in that was set from two to four slots while pods ran: 1/2 + 1/2 + 1/4.
    let cluster = Cluster::default().slots(&uuid(0), 2);
    let cluster = ["a", "b", "c"]
        .iter()
        .zip([0, 1, 0])
        .fold(cluster, |cluster, (pod, n)| cluster.pod(pod, GPU, &slot(0, n)));
    let hour = hour(&node(&["l40s"]), Some(cluster));
    assert_eq!(hour.costs(), "a 1.20, b 1.20, c 1.20");
    assert_eq!(hour.total, "3.60");
    assert!(hour.devices[0].oversubscribed);
}

#[test]
fn a_card_that_is_cut_anew_within_the_hour_is_three_stretches_and_one_gpu_hour() {
    let mut scenario = node(&["h100"]);
    let seven: Vec<GpuInstance> = (7..14).map(|gi| GpuInstance::new(gi, "1g.10gb")).collect();
    let layout = |from: i64, to: Option<i64>, instances| MigLayout {
        from: Seconds::new(from),
        to: to.map(Seconds::new),
        instances,
    };
    let two = vec![GpuInstance::new(1, "3g.40gb"), GpuInstance::new(2, "4g.40gb")];
    let none = Vec::new();
    scenario.gpus[0].mig =
        vec![layout(-60, Some(1200), seven), layout(1200, Some(1500), none), layout(1500, None, two)];
    scenario.processes = vec![
        Process::new(1, 0).on_instance(8, 0).alive(0, 1200).uid(1).busy(50.0).memory_mib(100.0),
        Process::new(2, 0).on_instance(2, 0).alive(1500, 3600).uid(2).busy(50.0).memory_mib(100.0),
    ];
    let hour = hour(&scenario, None);
    let device = &hour.devices[0];
    let near = |got: i64, want_s: f64| (got as f64 / 1e9 * 3600.0 - want_s).abs() <= 10.0;
    assert!(near(device.unavailable.0, 300.0) && device.stranded.0 == 0, "{device:?}");
    assert!(near(device.free.0 + device.held.0, 3600.0 - 300.0), "{device:?}");
    let reasons = hour.batches.iter().flat_map(|b| &b.device_windows).filter(|w| w.unavailable_ms > 0);
    assert!(reasons.into_iter().all(|window| window.reason() == Reason::Reconfiguring));
    assert_eq!(hour.total, "3.60");
    let (one, four) = (hour.of("uid-1").held * 3600.0, hour.of("uid-2").held * 3600.0);
    assert!((one - 1200.0 / 7.0).abs() < 2.0 && (four - 2100.0 * 4.0 / 7.0).abs() < 6.0, "{one} {four}");
}

#[test]
fn a_card_that_is_lost_is_unavailable_not_free_and_nobody_pays_for_it() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.processes = vec![
        Process::new(1, 0).uid(1).busy(50.0).memory_mib(100.0),
        Process::new(2, 1).uid(2).busy(50.0).memory_mib(100.0),
    ];
    scenario.events = vec![
        Event::Xid { gpu: 1, t: Seconds::new(1800), code: 79, gi: None },
        Event::GpuLost { gpu: 1, from: Seconds::new(1800), to: None },
    ];
    let hour = hour(&scenario, None);
    assert_eq!(hour.of("uid-1").cost, "3.60");
    assert!((hour.of("uid-2").held - 0.5).abs() < 0.01, "up to when it was lost");
    let lost = &hour.devices[1];
    assert!(lost.unavailable.0 as f64 / 1e9 > 0.49 && lost.free.0 == 0, "{lost:?}");
    assert_eq!(hour.total, "7.20", "capacity is capacity, in service or not");
}

#[test]
fn held_for_an_hour_and_never_busy_is_waste_and_no_sample_at_all_is_unknown() {
    let mut idle = node(&["h100"]);
    idle.processes = vec![Process::new(1, 0).uid(1).busy(0.0).memory_mib(100.0)];
    let known = hour(&idle, None);
    let share = known.of("uid-1");
    assert_eq!((share.cost.as_str(), share.busy, share.unknown), ("3.60", 0.0, 0.0));

    let mut silent = idle.clone();
    silent.events = ["nvmlDeviceGetSamples", "nvmlDeviceGetUtilizationRates", "nvmlGpmSampleGet"]
        .map(|function| Event::CallError {
            gpu: Some(0),
            function: function.into(),
            from: Seconds::ZERO,
            to: None,
            code: 3,
        })
        .into();
    let unknown = hour(&silent, None);
    let share = unknown.of("uid-1");
    assert_eq!((share.cost.as_str(), share.busy), ("3.60", 0.0));
    assert!((share.unknown - 1.0).abs() < 1e-6, "{share:?}");
}

#[test]
fn work_without_a_request_is_shown_and_does_not_take_from_who_was_given_the_card() {
    let mut scenario = node(&["h100"]);
    scenario.processes = vec![process(1, 0, "privileged").busy(40.0).memory_mib(100.0)];
    let cluster = Cluster::default().pod("holder", GPU, &[uuid(0)]).pod("privileged", GPU, &[]);
    let hour = hour(&scenario, Some(cluster));
    assert_eq!(hour.costs(), "holder 3.60, privileged 0.00");
    assert!((hour.of("privileged").busy - 0.4).abs() < 0.01, "{:?}", hour.of("privileged"));
    assert_eq!((hour.of("holder").busy, hour.of("holder").unknown), (0.0, 0.0));
}

#[test]
fn a_whole_node_of_full_cards_is_full() {
    let mut scenario: Scenario = node(&["h100"; 8]);
    scenario.processes =
        (0..8).map(|gpu| Process::new(9, gpu).uid(1).busy(100.0).memory_mib(100.0)).collect();
    let hour = hour(&scenario, None);
    let share = hour.of("uid-1");
    assert_eq!(share.cost, "28.80");
    assert!(share.busy > 7.99 && share.busy <= 8.0, "100 %, not an eighth of it: {share:?}");
}

#[test]
fn sharers_whose_processes_come_and_go_by_turns_each_hold_their_slot_all_the_time() {
    // Each sample finds the other pod's process: a label that follows what was seen last would flap.
    let mut scenario = node(&["l40s"]);
    scenario.processes = (0..240)
        .map(|turn: u32| {
            let (start_s, pod) = (i64::from(turn) * 15, if turn.is_multiple_of(2) { "even" } else { "odd" });
            process(turn + 1, 0, pod).alive(start_s, start_s + 15).busy(80.0).memory_mib(100.0)
        })
        .collect();
    let cluster = Cluster::default().slots(&uuid(0), 2);
    let cluster = cluster.pod("even", GPU, &slot(0, 0)).pod("odd", GPU, &slot(0, 1));
    let hour = hour(&scenario, Some(cluster));
    assert_eq!(hour.costs(), "even 1.80, odd 1.80");
    for pod in ["even", "odd"] {
        assert!((hour.of(pod).held - 0.5).abs() < 1e-6, "{:?}", hour.of(pod));
        assert!((hour.of(pod).busy - 0.4).abs() < 0.02, "half of the time by 80 %: {:?}", hour.of(pod));
    }
}

#[test]
fn one_of_eight_cards_out_of_order_leaves_seven_and_the_eighth_is_not_anybodys() {
    let mut scenario = node(&["h100"; 8]);
    scenario.processes = (0..7).map(|gpu| Process::new(9, gpu).uid(1).busy(50.0).memory_mib(100.0)).collect();
    scenario.events = vec![Event::GpuLost { gpu: 7, from: Seconds::new(600), to: None }];
    let hour = hour(&scenario, None);
    assert_eq!(hour.costs(), "uid-1 25.20");
    assert_eq!(hour.devices.iter().map(|device| device.capacity.0).sum::<i64>(), 8_000_000_000);
    let allocatable = |device: &&billing::usage::DeviceTotal| device.unavailable.0 == 0;
    assert_eq!((hour.devices.len(), hour.devices.iter().filter(allocatable).count()), (8, 7));
    let out: f64 = hour.devices.iter().map(|device| device.unavailable.0 as f64 / 1e9 * 3600.0).sum();
    assert!((out - 3000.0).abs() <= 15.0, "out of order from when it was: {out} s");
}
