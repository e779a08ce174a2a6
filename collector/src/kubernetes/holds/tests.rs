//! What holds follow from what the kubelet lists and the API server tells, as lines `pod/container target part`.

use super::*;
use crate::kubernetes::objects;
use crate::kubernetes::podresources::{GpuNames, proto};

const A: &str = "GPU-aaaaaaaa-3e4b-5a69-7788-99aabbccddee";
const B: &str = "GPU-bbbbbbbb-3e4b-5a69-7788-99aabbccddee";
const MIG: &str = "MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55";

#[derive(Default)]
struct Story {
    cluster: Cluster,
    list: proto::ListPodResourcesResponse,
    offered: proto::AllocatableResourcesResponse,
    config: KubernetesConfig,
}

fn ids(resource: &str, ids: &[String]) -> proto::ContainerDevices {
    proto::ContainerDevices { resource_name: resource.into(), device_ids: ids.to_vec() }
}

impl Story {
    /// A pod of the API server, with containers `main` and `side`.
    fn pod(mut self, name: &str, phase: &str, metadata: &str) -> Self {
        let ended = if phase == "Running" {
            ""
        } else {
            r#","containerStatuses":[{"name":"main","state":{"terminated":{"finishedAt":"2026-09-01T01:00:00Z"}}}]"#
        };
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"{name}-uid"{metadata}}},
              "spec":{{"initContainers":[{{"name":"init"}}],"containers":[{{"name":"main"}},{{"name":"side"}}]}},
              "status":{{"phase":"{phase}","startTime":"2026-09-01T00:00:00Z"{ended}}}}}"#
        );
        let pod: objects::Pod = serde_json::from_str(&json).expect("a pod");
        let facts = PodFacts::read(&pod, &self.config);
        self.cluster.pods.insert(facts.uid.clone(), facts);
        self.cluster.pods_synced = true;
        self
    }

    /// What the kubelet lists of a container.
    fn listed(mut self, pod: &str, container: &str, resource: &str, list: &[String]) -> Self {
        let container = proto::ContainerResources {
            name: container.into(),
            devices: vec![ids(resource, list)],
            dynamic_resources: Vec::new(),
        };
        match self.list.pod_resources.iter_mut().find(|own| own.name == pod) {
            Some(own) => own.containers.push(container),
            None => self.list.pod_resources.push(proto::PodResources {
                name: pod.into(),
                namespace: "ns".into(),
                containers: vec![container],
            }),
        }
        self
    }

    fn claims(mut self, pod: &str, claim: &str, device: &str, share_id: Option<&str>) -> Self {
        let resource = proto::ClaimResource {
            cdi_devices: Vec::new(),
            driver_name: "gpu.nvidia.com".into(),
            pool_name: "n1".into(),
            device_name: device.into(),
            share_id: share_id.map(str::to_owned),
        };
        let claim = proto::DynamicResource {
            claim_name: claim.into(),
            claim_namespace: "ns".into(),
            claim_resources: vec![resource],
        };
        let container = proto::ContainerResources {
            name: "main".into(),
            devices: Vec::new(),
            dynamic_resources: vec![claim],
        };
        self.list.pod_resources.push(proto::PodResources {
            name: pod.into(),
            namespace: "ns".into(),
            containers: vec![container],
        });
        self
    }

    fn given(mut self, claim: &str, result: &str) -> Self {
        let json = format!(r#"{{"status":{{"allocation":{{"devices":{{"results":[{result}]}}}}}}}}"#);
        let results = dra::results(&serde_json::from_str(&json).expect("a claim")).expect("given");
        self.cluster.claims.insert(("ns".into(), claim.into()), results);
        self
    }

    fn slice(mut self, devices: &str) -> Self {
        let json = format!(
            r#"{{"spec":{{"driver":"gpu.nvidia.com","pool":{{"name":"n1"}},"devices":[{devices}]}}}}"#
        );
        self.cluster.slices.insert("s".into(), dra::offered(&serde_json::from_str(&json).expect("a slice")));
        self
    }

    fn offers(mut self, list: Vec<String>) -> Self {
        self.offered.devices.push(ids("nvidia.com/gpu", &list));
        self
    }

    fn tell(self) -> (Vec<String>, BTreeMap<&'static str, u64>) {
        let names = GpuNames { resources: Vec::new(), drivers: vec!["gpu.nvidia.com".into()] };
        let mut view = KubeletView::default();
        view.set_pods(&self.list, &names);
        view.set_slots(&self.offered, &names);
        let found = holds(&self.cluster, &view, &self.config, &|_| Some(40_960));
        let show = |hold: &Hold| {
            let target = match &hold.target {
                DeviceRef::Gpu(uuid) | DeviceRef::Mig(uuid) => uuid.get(..5).expect("long").to_owned(),
                other => format!("{other:?}"),
            };
            let part = match &hold.part {
                Part::Fixed(share) => share.to_string(),
                Part::Equal { of, .. } => format!("{of} together"),
            };
            format!("{}/{} {target} {part}", hold.pod, hold.container.as_deref().unwrap_or("-"))
        };
        (found.holds.iter().map(show).collect(), found.unresolved)
    }
}

fn replicas(base: &str, slots: std::ops::Range<u32>) -> Vec<String> {
    slots.map(|n| format!("{base}::{n}")).collect()
}

#[test]
fn slots_are_divided_by_the_slots_of_their_own_device() {
    let (held, unresolved) = Story::default()
        .pod("p", "Running", "")
        .pod("q", "Running", "")
        .offers(replicas(A, 0..4))
        .offers(replicas(B, 0..2))
        .listed("p", "main", "nvidia.com/gpu", &[format!("{A}::0"), format!("{A}::3")])
        .listed("q", "main", "nvidia.com/gpu.shared", &[format!("{B}::1")])
        .tell();
    assert_eq!(held, ["p-uid/main GPU-a 1/2", "q-uid/main GPU-b 1/2"]);
    assert!(unresolved.is_empty());
}

#[test]
fn two_slots_of_one_device_are_one_hold_and_two_containers_are_two() {
    let story = || Story::default().pod("p", "Running", "").offers(replicas(A, 0..8));
    let slots = |list: &[u32]| list.iter().map(|n| format!("{A}::{n}")).collect::<Vec<_>>();
    let one = story().listed("p", "main", "nvidia.com/gpu", &slots(&[0, 5])).tell();
    assert_eq!(one, (vec!["p-uid/main GPU-a 1/4".to_owned()], BTreeMap::new()));
    let two = story()
        .listed("p", "main", "nvidia.com/gpu", &slots(&[0]))
        .listed("p", "side", "nvidia.com/gpu", &slots(&[5]))
        .tell();
    assert_eq!(two.0, ["p-uid/main GPU-a 1/8", "p-uid/side GPU-a 1/8"]);
}

#[test]
fn a_claim_for_every_device_of_a_node_holds_each_of_them_whole() {
    let of = |n: u32, json: &str| json.replace("{n}", &n.to_string());
    let eight = |json: &str| (0..8).map(|n| of(n, json)).collect::<Vec<_>>().join(",");
    let devices = eight(
        r#"{"name":"gpu-{n}","attributes":{"uuid":{"string":"GPU-{n}aaaaaaa-3e4b-5a69-7788-99aabbccddee"}}}"#,
    );
    let results = eight(r#"{"request":"all","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-{n}"}"#);
    let mut story = Story::default().pod("p", "Running", "").slice(&devices).given("c", &results);
    story = story.claims("p", "c", "gpu-0", None);
    let listed = &mut story.list.pod_resources[0].containers[0].dynamic_resources[0].claim_resources;
    for n in 1..8 {
        listed.push(proto::ClaimResource { device_name: format!("gpu-{n}"), ..listed[0].clone() });
    }
    let want: Vec<String> = (0..8).map(|n| format!("p-uid/main GPU-{n} 1 together")).collect();
    assert_eq!(story.tell(), (want, BTreeMap::new()));
}

#[test]
fn mig_strategies_single_and_mixed_hold_the_same() {
    let with = |resource: &str| {
        Story::default().pod("p", "Running", "").listed("p", "main", resource, &[MIG.into()]).tell().0
    };
    assert_eq!(with("nvidia.com/gpu"), ["p-uid/main MIG-2 1 together"]);
    assert_eq!(with("nvidia.com/gpu"), with("nvidia.com/mig-1g.5gb"));
}

#[test]
fn a_slot_of_a_mig_instance_is_a_share_of_the_instance() {
    let (held, _) = Story::default()
        .pod("p", "Running", "")
        .offers(replicas(MIG, 0..2))
        .listed("p", "main", "nvidia.com/mig-1g.5gb.shared", &[format!("{MIG}::1")])
        .tell();
    assert_eq!(held, ["p-uid/main MIG-2 1/2"]);
}

#[test]
fn an_init_containers_devices_go_on_to_the_others_and_count_once() {
    let (held, _) = Story::default()
        .pod("p", "Running", "")
        .listed("p", "init", "nvidia.com/gpu", &[A.into(), B.into()])
        .listed("p", "main", "nvidia.com/gpu", &[A.into()])
        .tell();
    assert_eq!(
        held,
        ["p-uid/main GPU-a 1 together", "p-uid/init GPU-b 1 together"],
        "two at the peak, not three"
    );
}

#[test]
fn hami_containers_add_up_and_an_init_container_only_counts_beyond_them() {
    let with = |value: &str| {
        let annotation = format!(r#","annotations":{{"hami.io/vgpu-devices-allocated":"{value}"}}"#);
        Story::default()
            .pod("p", "Running", &annotation)
            .listed("p", "main", "nvidia.com/gpu", &[format!("{A}-4")])
            .tell()
            .0
    };
    let (quarter, half) = (format!("{A},NVIDIA,10240,25:;"), format!("{A},NVIDIA,20480,0:;"));
    assert_eq!(with(&quarter), ["p-uid/main GPU-a 1/4"]);
    assert_eq!(with(&format!("{quarter}{quarter}")), ["p-uid/main GPU-a 1/4", "p-uid/side GPU-a 1/4"]);
    assert_eq!(with(&format!("{half};{quarter}")).len(), 2);
    assert_eq!(
        with(&format!("{half}{quarter};")),
        ["p-uid/main GPU-a 1/4", "p-uid/init GPU-a 1/4"],
        "a half at the peak"
    );
}

#[test]
fn a_claim_is_one_device_however_many_share_it_and_admin_access_is_free() {
    let gpu = format!(
        r#"{{"name":"gpu-0","attributes":{{"uuid":{{"string":"{A}"}}}},"capacity":{{"memory":{{"value":"80Gi"}}}}}}"#
    );
    let story = || Story::default().pod("p", "Running", "").pod("q", "Running", "").slice(&gpu);
    let result = |more: &str| format!(r#"{{"driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0"{more}}}"#);
    let shared = story()
        .given("c", &result(""))
        .claims("p", "c", "gpu-0", None)
        .claims("q", "c", "gpu-0", None)
        .tell();
    assert_eq!(shared.0, ["p-uid/main GPU-a 1 together", "q-uid/main GPU-a 1 together"]);
    let consumed = result(r#","shareID":"s","consumedCapacity":{"memory":"20Gi"}"#);
    assert_eq!(
        story().given("c", &consumed).claims("p", "c", "gpu-0", Some("s")).tell().0,
        ["p-uid/main GPU-a 1/4 together"]
    );
    assert!(
        story()
            .given("c", &result(r#","adminAccess":true"#))
            .claims("p", "c", "gpu-0", None)
            .tell()
            .0
            .is_empty()
    );
    let unknown = story().claims("p", "c", "gpu-0", None).tell();
    assert_eq!((unknown.0.len(), unknown.1), (0, [("claim_unknown", 1)].into()), "counted, held by nobody");
}

#[test]
fn a_device_that_a_plugin_and_a_claim_both_list_counts_once() {
    let gpu = format!(r#"{{"name":"gpu-0","attributes":{{"uuid":{{"string":"{A}"}}}}}}"#);
    let mut story = Story::default()
        .pod("p", "Running", "")
        .slice(&gpu)
        .given("c", r#"{"driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0"}"#)
        .claims("p", "c", "gpu-0", None);
    story.list.pod_resources[0].containers[0].devices.push(ids("nvidia.com/gpu", &[A.into()]));
    assert_eq!(story.tell().0, ["p-uid/main GPU-a 1 together"]);
}

#[test]
fn a_reservation_pod_pays_nothing_and_the_fractions_of_its_group_are_held() {
    let mut story = Story::default()
        .pod("half", "Running", r#","labels":{"runai-gpu-group":"g"},"annotations":{"gpu-fraction":"0.5"}"#)
        .pod(
            "lost",
            "Running",
            r#","labels":{"runai-gpu-group":"other"},"annotations":{"gpu-fraction":"0.5"}"#,
        );
    let json = r#"{"metadata":{"name":"res","namespace":"kai-resource-reservation","uid":"r","labels":{"runai-gpu-group":"g"}},
        "status":{"phase":"Running","startTime":"2026-09-01T00:00:00Z"}}"#;
    let pod = PodFacts::read(&serde_json::from_str(json).expect("a pod"), &story.config);
    story.cluster.pods.insert("r".into(), pod);
    let mut story = story.listed("res", "main", "nvidia.com/gpu", &[A.into()]);
    story.list.pod_resources[0].namespace = "kai-resource-reservation".into();
    let (held, unresolved) = story.tell();
    assert_eq!(held, ["half-uid/- GPU-a 1/2"]);
    assert_eq!(unresolved, [("group_without_device", 1)].into());
}

#[test]
fn a_dead_pod_that_the_kubelet_still_lists_loses_to_the_living_one() {
    let story = Story::default()
        .pod("alive", "Running", "")
        .listed("alive", "main", "nvidia.com/gpu", &[A.into()])
        .listed("stranger", "main", "nvidia.com/gpu", &[A.into()]);
    let (held, unresolved) = story.tell();
    assert_eq!(held, ["alive-uid/main GPU-a 1 together"]);
    assert_eq!(unresolved, [("dead_pod_listed", 1)].into());
}

#[test]
fn without_an_api_server_the_kubelets_names_hold_and_slots_that_need_it_are_counted() {
    let (held, unresolved) = Story::default()
        .offers(replicas(A, 0..4))
        .listed("p", "main", "nvidia.com/gpu", &[format!("{A}::1")])
        .listed("h", "main", "nvidia.com/gpu", &[format!("{B}-1")])
        .listed("g", "main", "aliyun.com/gpu-mem", &[format!("{B}-_-1"), format!("{B}-_-2")])
        .tell();
    assert_eq!(held, ["ns/p/main GPU-a 1/4"]);
    assert_eq!(unresolved, [("gpushare_without_annotation", 2), ("hami_without_annotation", 1)].into());
}
