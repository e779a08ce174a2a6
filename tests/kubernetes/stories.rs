//! Who holds what, told by a kubelet and an API server together.

use super::{GPU, MIG, says, told, witness};
use collector::allocation::{DeviceName, WhyOutOfUse};
use collector::kubernetes::degradations;
use collector::kubernetes::devices::KnownDevice;
use collector::kubernetes::health::Source;
use harness::kubernetes::api_server::{ApiServer, NODES, PODS};
use harness::kubernetes::eventually;
use harness::kubernetes::kubelet::{Knowledge, Kubelet, Mood};
use schema::owner::OwnerKind;
use serde_json::{Value, json};

/// A pod that asks for a GPU, runs since midnight of 1 September 2026 and has the container `main`.
pub fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("{name}-uid"), "labels": {"team": "vision"}},
        "spec": {"nodeName": "n1", "priorityClassName": "batch", "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running", "startTime": "2026-09-01T00:00:00Z",
            "containerStatuses": [{"name": "main", "containerID": format!("containerd://{name}-1"), "state": {"running": {"startedAt": "2026-09-01T00:00:03Z"}}}]}
    })
}

/// The pod after it completed, half an hour on.
pub fn completed(name: &str) -> Value {
    let mut pod = pod(name);
    pod["status"]["phase"] = "Succeeded".into();
    pod["status"]["containerStatuses"][0]["state"] =
        json!({"terminated": {"finishedAt": "2026-09-01T00:30:00Z"}});
    pod
}

fn annotated(name: &str, annotations: Value) -> Value {
    let mut pod = pod(name);
    pod["metadata"]["annotations"] = annotations;
    pod
}

#[test]
fn time_sliced_mig_and_hami_pods_hold_their_exact_shares_under_their_full_names() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let kubelet = Kubelet::start(dir.path(), &knowledge);
    let hami_gpu = "GPU-cccccccc-3e4b-5a69-7788-99aabbccddee";
    knowledge.offer(GPU, 4);
    knowledge.offer(MIG, 2);
    knowledge.give("sliced", "main", "nvidia.com/gpu", &[format!("{GPU}::3")]);
    knowledge.give(
        "mig",
        "main",
        "nvidia.com/mig-3g.40gb",
        &["MIG-3ce7a541-c516-5dbc-a76e-26cc100d9b55".into()],
    );
    knowledge.give("mig-slot", "main", "nvidia.com/mig-1g.10gb.shared", &[format!("{MIG}::0")]);
    knowledge.give("hami", "main", "nvidia.com/gpu", &[format!("{hami_gpu}-7")]);
    for name in ["sliced", "mig", "mig-slot"] {
        api.put(PODS, pod(name));
    }
    api.put(
        PODS,
        annotated("hami", json!({"hami.io/vgpu-devices-allocated": format!("{hami_gpu},NVIDIA,20384,25:;")})),
    );
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    witness.devices.set(vec![KnownDevice {
        uuid: hami_gpu.into(),
        index: 2,
        minor: Some(2),
        memory_mib: Some(81_536),
    }]);
    says(&witness, &["hami/main 1/4", "mig-slot/main 1/2", "mig/main 1", "sliced/main 1/4"]);

    let said = witness.board.current();
    let sliced =
        said.held.iter().find(|held| held.target.device == DeviceName::Uuid(GPU.into())).expect("held");
    assert_eq!(
        (sliced.from_ms, sliced.to_ms),
        (1_788_220_800_000, None),
        "from when the node took the pod up"
    );
    let shown: Vec<String> =
        sliced.owner.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        shown,
        [
            "container=main",
            "label:team=vision",
            "namespace=ns",
            "pod=sliced",
            "pod_uid=sliced-uid",
            "priority_class=batch"
        ]
    );
    let by_cgroup = &said.owners[&(OwnerKind::Kubernetes, "sliced-uid/sliced-1".to_owned())];
    assert_eq!(
        by_cgroup.workload(),
        sliced.owner.workload(),
        "a process in the container is the same workload"
    );
    assert_eq!(api.unauthorized(), 0);
    assert!(
        api.asked("watch=1")
            .iter()
            .filter(|url| url.starts_with(PODS))
            .all(|url| url.contains("spec.nodeName%3Dn1"))
    );
    drop(kubelet);
}

#[test]
fn a_claim_that_two_pods_share_is_half_each_and_monitoring_is_free() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let dra = "/apis/resource.k8s.io/v1beta1";
    let device =
        |name: &str, uuid: &str| json!({"name": name, "basic": {"attributes": {"uuid": {"string": uuid}}}});
    api.put(
        &format!("{dra}/resourceslices"),
        json!({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com", "pool": {"name": "n1"}, "devices": [device("gpu-0", GPU)]}}),
    );
    let claim = |name: &str, more: Value| {
        let mut result = json!({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"});
        result.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({"metadata": {"name": name, "namespace": "ns"}, "status": {"allocation": {"devices": {"results": [result]}}}})
    };
    let claims = format!("{dra}/namespaces/ns/resourceclaims");
    api.put(&claims, claim("shared", json!({})));
    api.put(&claims, claim("watcher", json!({"adminAccess": true})));
    for (name, used) in [("a", "shared"), ("b", "shared"), ("monitor", "watcher")] {
        api.put(PODS, pod(name));
        knowledge.claim(name, "main", used, "gpu-0");
    }
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    says(&witness, &["a/main 1/2", "b/main 1/2"]);
    assert!(witness.health.counts().unresolved.is_empty());
}

#[test]
fn a_completed_pod_that_an_old_kubelet_still_lists_holds_up_to_its_end_and_no_further() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.give("first", "main", "nvidia.com/gpu", &[GPU.into()]);
    api.put(PODS, pod("first"));
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    says(&witness, &["first/main 1"]);
    // The job ends long ago by its own words: its time is past what is kept, so that only the second is told.
    knowledge.give("second", "main", "nvidia.com/gpu", &[GPU.into()]);
    api.put(PODS, completed("first"));
    api.put(PODS, pod("second"));
    says(&witness, &["second/main 1"]);
}

#[test]
fn a_cordoned_node_is_in_maintenance() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    api.put(NODES, json!({"metadata": {"name": "n1"}, "status": ready}));
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    eventually("the node", || {
        witness.health.counts().last_success_ms.contains_key(&Source::Node).then_some(())
    });
    api.put(NODES, json!({"metadata": {"name": "n1"}, "spec": {"unschedulable": true}, "status": ready}));
    let why = eventually("the cordon", || witness.board.current().out_of_use.clone());
    assert_eq!(why.why, WhyOutOfUse::Maintenance);
}

#[test]
fn without_leave_to_ask_the_api_server_the_kubelets_names_hold_and_it_is_said() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    api.refuse(PODS, 403);
    knowledge.give("p", "main", "nvidia.com/gpu", &[GPU.into()]);
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    says(&witness, &["p/main 1"]);
    let counts = eventually("the refusal", || {
        Some(witness.health.counts()).filter(|c| c.errors.contains_key(&(Source::Pods, "forbidden")))
    });
    let now_ms = counts.last_success_ms[&Source::Kubelet];
    let said = degradations(&counts, true, now_ms);
    assert!(said.len() == 1 && said[0].contains("forbidden"), "{said:?}");
    assert!(!witness.board.current().held[0].owner.attributes.contains_key("pod_uid"));
}

#[test]
fn a_kubelet_that_restarts_is_followed_to_its_new_socket() {
    let dir = tempfile::tempdir().expect("folder");
    let knowledge = Knowledge::default();
    let kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.give("p", "main", "nvidia.com/gpu", &[GPU.into()]);
    let (witness, _running) = witness(dir.path(), None, |_| {});
    says(&witness, &["p/main 1"]);
    drop(kubelet);
    eventually("the loss", || {
        witness.health.counts().errors.contains_key(&(Source::Kubelet, "unavailable")).then_some(())
    });
    assert_eq!(
        told(&witness.board.current()),
        ["p/main 1"],
        "a kubelet that is gone for a moment takes nobody's device"
    );
    knowledge.give("q", "main", "nvidia.com/gpu", &[MIG.into()]);
    let _again = Kubelet::start(dir.path(), &knowledge);
    says(&witness, &["p/main 1", "q/main 1"]);
}

#[test]
fn a_rate_limit_slows_the_questions_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("folder");
    let knowledge = Knowledge::default();
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.give("p", "main", "nvidia.com/gpu", &[GPU.into()]);
    let (witness, _running) = witness(dir.path(), None, |_| {});
    says(&witness, &["p/main 1"]);
    let limited = std::time::Instant::now();
    knowledge.set_mood(Mood::RateLimited);
    let before = knowledge.calls("List");
    let refused = |times: u64| {
        let is_so = |errors: &std::collections::BTreeMap<(Source, &str), u64>| {
            errors.get(&(Source::Kubelet, "rate_limited")) >= Some(&times)
        };
        eventually("the limit", || is_so(&witness.health.counts().errors).then(std::time::Instant::now))
    };
    assert!(
        refused(3) - limited >= std::time::Duration::from_millis(2_500),
        "pauses of one and two seconds lie between"
    );
    assert!(knowledge.calls("List") - before <= 4);
    assert_eq!(told(&witness.board.current()), ["p/main 1"]);
    knowledge.set_mood(Mood::Well);
    knowledge.give("q", "main", "nvidia.com/gpu", &[MIG.into()]);
    says(&witness, &["p/main 1", "q/main 1"]);
}

#[test]
fn a_kubelet_that_takes_its_time_delays_neither_the_board_nor_the_api_servers_word() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let (tell, told_to) = tokio::sync::watch::channel(false);
    knowledge.set_mood(Mood::Waits(told_to));
    knowledge.give("p", "main", "nvidia.com/gpu", &[GPU.into()]);
    api.put(PODS, pod("p"));
    let (witness, running) = witness(dir.path(), Some(&api), |_| {});
    eventually("the question", || (knowledge.calls("List") > 0).then_some(()));
    let owners = || witness.board.current().owners.len();
    eventually("the pod's name without the kubelet", || (owners() == 2).then_some(()));
    assert!(witness.board.current().held.is_empty(), "what wasn't answered is not made up");
    tell.send(true).expect("it waits");
    says(&witness, &["p/main 1"]);
    // Ending doesn't wait for an answer either.
    let (_never, told_to) = tokio::sync::watch::channel(false);
    let before = knowledge.calls("List");
    knowledge.set_mood(Mood::Waits(told_to));
    eventually("the next question", || (knowledge.calls("List") > before).then_some(()));
    drop(running);
}

#[test]
fn a_new_pod_is_asked_for_alone_before_the_next_list() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.set_get(true);
    let (witness, _running) = witness(dir.path(), Some(&api), |config| config.poll_seconds = 300);
    eventually("the first list", || {
        witness.health.counts().last_success_ms.contains_key(&Source::Kubelet).then_some(())
    });
    knowledge.give("short", "main", "nvidia.com/gpu", &[GPU.into()]);
    api.put(PODS, pod("short"));
    says(&witness, &["short/main 1"]);
    assert_eq!((knowledge.calls("List"), knowledge.calls("Get")), (1, 1));
}

#[test]
fn a_kubelet_without_get_is_asked_for_a_list_instead() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let (witness, _running) = witness(dir.path(), Some(&api), |config| config.poll_seconds = 300);
    eventually("the first list", || {
        witness.health.counts().last_success_ms.contains_key(&Source::Kubelet).then_some(())
    });
    for name in ["one", "two"] {
        let device = if name == "one" { GPU } else { MIG };
        knowledge.give(name, "main", "nvidia.com/gpu", &[device.into()]);
        api.put(PODS, pod(name));
        eventually("the pod", || {
            told(&witness.board.current()).contains(&format!("{name}/main 1")).then_some(())
        });
    }
    assert_eq!((knowledge.calls("List"), knowledge.calls("Get")), (3, 1), "it is asked for Get once");
}
