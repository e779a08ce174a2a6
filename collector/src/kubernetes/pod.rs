//! A pod as far as metering needs it: who it is, from when to when it held its devices, what it asked for.

use super::config::KubernetesConfig;
use super::device_id::{may_be_gpu, resource_name};
use super::fractions::{self, Amount, Grant};
use super::objects;
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

/// What a container is to its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Runs to its end before the others start.
    Init,
    /// An init container that goes on beside the others.
    Sidecar,
    /// An ordinary one.
    App,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Name.
    pub name: String,
    /// What it is to the pod.
    pub role: Role,
    /// Its ids now and before its last restart, without the runtime's prefix.
    pub ids: Vec<String>,
    /// Units of gpushare's memory that it asked for.
    pub gpushare_units: u32,
}

/// A pod of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    /// UID in the API.
    pub uid: String,
    /// Namespace.
    pub namespace: String,
    /// Name; with another UID it is another pod.
    pub name: String,
    /// The config hash of a static pod: its UID in cgroups, because the API knows its mirror only.
    pub static_hash: Option<String>,
    /// Labels that the configuration asks for.
    pub labels: BTreeMap<String, String>,
    /// Priority class.
    pub priority_class: Option<String>,
    /// Containers: init containers first, in the pod's order.
    pub containers: Vec<Container>,
    /// Since when it holds its devices, Unix milliseconds; `None` while it holds none.
    pub from_ms: Option<i64>,
    /// When it let go of them, Unix milliseconds; `None` while it holds them.
    pub to_ms: Option<i64>,
    /// It asks for GPUs, or for claims that may be.
    pub wants_gpus: bool,
    /// What a fractional scheduler gave it.
    pub grants: Vec<Grant>,
    /// Groups of the KAI scheduler, each one device.
    pub gpu_groups: Vec<String>,
    /// What it was given of each of its groups' devices.
    pub fraction: Option<Amount>,
    /// It stands in for pods that were given fractions, and pays nothing.
    pub reserves: bool,
    /// A fractional scheduler's annotation that couldn't be read.
    pub unreadable: Option<&'static str>,
}

impl PodFacts {
    /// Reads a pod of the API server.
    pub fn read(pod: &objects::Pod, config: &KubernetesConfig) -> Self {
        let meta = &pod.metadata;
        let containers = containers(pod);
        let gpu_groups = fractions::gpu_groups(&meta.labels);
        let reserves = config.reservation_namespaces.contains(&meta.namespace) && !gpu_groups.is_empty();
        let grants = fractions::grants(&meta.annotations, &containers);
        let fraction = fractions::fraction(&meta.annotations);
        let unreadable = grants.as_ref().err().or(fraction.as_ref().err()).copied();
        let from_ms = from_ms(pod, config.pending_pods_hold);
        let has_claims =
            !pod.spec.resource_claims.is_empty() || pod.status.extended_resource_claim_status.is_some();
        let mut limits = pod
            .spec
            .init_containers
            .iter()
            .chain(&pod.spec.containers)
            .flat_map(|c| c.resources.limits.keys());
        let wants_gpus = has_claims
            || limits.any(|name| may_be_gpu(name) || resource_name(name, &config.resources).is_some());
        Self {
            uid: meta.uid.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            static_hash: meta.annotations.get("kubernetes.io/config.hash").cloned(),
            labels: picked(&meta.labels, &config.pod_labels),
            priority_class: pod.spec.priority_class_name.clone().filter(|name| !name.is_empty()),
            to_ms: ended_ms(pod, from_ms),
            from_ms,
            containers,
            wants_gpus,
            grants: grants.unwrap_or_default(),
            gpu_groups,
            fraction: fraction.unwrap_or_default(),
            reserves,
            unreadable,
        }
    }

    /// The container with this id, now or before its last restart.
    pub fn container_by_id(&self, id: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.ids.iter().any(|own| own == id))
    }

    /// What a container is; one that isn't in the specification runs beside the others.
    pub fn role(&self, container: &str) -> Role {
        self.containers.iter().find(|own| own.name == container).map_or(Role::App, |own| own.role)
    }
}

/// The labels with these keys.
pub fn picked(labels: &BTreeMap<String, String>, keys: &[String]) -> BTreeMap<String, String> {
    keys.iter().filter_map(|key| labels.get(key).map(|value| (key.clone(), value.clone()))).collect()
}

fn containers(pod: &objects::Pod) -> Vec<Container> {
    let statuses = || {
        let status = &pod.status;
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
            .chain(&status.ephemeral_container_statuses)
    };
    let ids = |name: &str| {
        let mut ids = Vec::new();
        for status in statuses().filter(|status| status.name == name) {
            let before =
                [&status.state, &status.last_state].into_iter().filter_map(|s| s.terminated.as_ref());
            let all = status.container_id.iter().chain(before.filter_map(|t| t.container_id.as_ref()));
            ids.extend(all.map(|id| id.split_once("://").map_or(id.as_str(), |(_, id)| id).to_owned()));
        }
        ids.sort();
        ids.dedup();
        ids
    };
    let of = |spec: &objects::Container, role| Container {
        name: spec.name.clone(),
        role,
        ids: ids(&spec.name),
        gpushare_units: spec.resources.limits.get("aliyun.com/gpu-mem").and_then(whole).unwrap_or(0),
    };
    let inits = pod.spec.init_containers.iter().map(|spec| {
        let is_sidecar = spec.restart_policy.as_deref() == Some("Always");
        of(spec, if is_sidecar { Role::Sidecar } else { Role::Init })
    });
    inits.chain(pod.spec.containers.iter().map(|spec| of(spec, Role::App))).collect()
}

/// A quantity that is a whole number, written as text or number.
fn whole(value: &serde_json::Value) -> Option<u32> {
    match value {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|n| u32::try_from(n).ok()),
    }
}

fn ms(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis()
}

/// The kubelet gives devices out when it takes a pod up, before it pulls images.
fn from_ms(pod: &objects::Pod, pending_pods_hold: bool) -> Option<i64> {
    let accepted = pod.status.start_time.map(ms);
    if pending_pods_hold {
        return accepted;
    }
    let statuses = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let times = statuses.flat_map(|s| {
        let states = [&s.state, &s.last_state];
        states.into_iter().flat_map(|state| [state.running.as_ref(), state.terminated.as_ref()])
    });
    times.flatten().filter_map(|times| times.started_at.map(ms)).min().or(
        // A pod that runs has started, whether its containers say when or not.
        accepted.filter(|_| pod.status.phase == "Running"),
    )
}

/// Devices are let go of when the last container of a pod that won't start another has ended.
fn ended_ms(pod: &objects::Pod, from_ms: Option<i64>) -> Option<i64> {
    if !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
        return None;
    }
    let statuses = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let last = statuses.filter_map(|s| s.state.terminated.as_ref()?.finished_at.map(ms)).max();
    let ready =
        pod.status.conditions.iter().find(|c| c.kind == "Ready").and_then(|c| c.last_transition_time.map(ms));
    // One that failed before any container started held its devices until it was given up; one that the node refused
    // never held any.
    let end = last.or(ready).or(from_ms)?;
    Some(from_ms.map_or(end, |from| end.max(from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> PodFacts {
        let config = KubernetesConfig { pod_labels: vec!["team".into()], ..KubernetesConfig::default() };
        PodFacts::read(&serde_json::from_str(json).expect("a pod"), &config)
    }

    const T0: i64 = 1_788_220_800_000;

    #[test]
    fn a_pod_holds_from_when_the_node_took_it_up_while_its_image_is_pulled() {
        let json = r#"{"metadata":{"name":"p","namespace":"a","uid":"u","labels":{"team":"x","noise":"y"}},
            "spec":{"containers":[{"name":"main"}],"priorityClassName":"batch"},
            "status":{"phase":"Pending","startTime":"2026-09-01T00:00:00Z",
              "containerStatuses":[{"name":"main","state":{"waiting":{"reason":"ImagePullBackOff"}}}]}}"#;
        let pod = read(json);
        assert_eq!((pod.from_ms, pod.to_ms), (Some(T0), None));
        assert_eq!(pod.labels, [("team".to_owned(), "x".to_owned())].into());
        assert_eq!(pod.priority_class.as_deref(), Some("batch"));
        let config = KubernetesConfig { pending_pods_hold: false, ..KubernetesConfig::default() };
        let strict = PodFacts::read(&serde_json::from_str(json).expect("a pod"), &config);
        assert_eq!(strict.from_ms, None, "by the other policy it holds nothing yet");
    }

    #[test]
    fn a_completed_pod_that_is_not_deleted_holds_up_to_its_last_containers_end() {
        let pod = read(
            r#"{"metadata":{"name":"job","namespace":"a","uid":"u"},"spec":{"containers":[{"name":"x"},{"name":"y"}]},
            "status":{"phase":"Succeeded","startTime":"2026-09-01T00:00:00Z","containerStatuses":[
              {"name":"x","state":{"terminated":{"startedAt":"2026-09-01T00:00:05Z","finishedAt":"2026-09-01T00:10:00Z"}}},
              {"name":"y","state":{"terminated":{"startedAt":"2026-09-01T00:00:05Z","finishedAt":"2026-09-01T00:20:00Z"}}}]}}"#,
        );
        assert_eq!(pod.to_ms, Some(T0 + 1_200_000));
    }

    #[test]
    fn a_pod_that_failed_before_it_started_held_until_it_was_given_up() {
        let with = |conditions: &str| {
            read(&format!(
                r#"{{"metadata":{{"name":"p","namespace":"a","uid":"u"}},
                "status":{{"phase":"Failed","startTime":"2026-09-01T00:00:00Z","conditions":[{conditions}]}}}}"#
            ))
        };
        let given_up = with(
            r#"{"type":"Ready","status":"False","reason":"PodFailed","lastTransitionTime":"2026-09-01T00:40:00Z"}"#,
        );
        assert_eq!(given_up.to_ms, Some(T0 + 2_400_000));
        assert_eq!(with("").to_ms, Some(T0), "one that the node refused held nothing");
    }

    #[test]
    fn a_restart_keeps_the_pod_and_both_container_ids_lead_to_it() {
        let pod = read(
            r#"{"metadata":{"name":"p","namespace":"a","uid":"u"},"spec":{"containers":[{"name":"main"}],
              "initContainers":[{"name":"fetch"},{"name":"proxy","restartPolicy":"Always"}]},
            "status":{"phase":"Running","startTime":"2026-09-01T00:00:00Z","containerStatuses":[
              {"name":"main","containerID":"containerd://new","state":{"running":{"startedAt":"2026-09-01T01:00:00Z"}},
               "lastState":{"terminated":{"containerID":"containerd://old","finishedAt":"2026-09-01T00:59:00Z"}}}]}}"#,
        );
        assert_eq!((pod.from_ms, pod.to_ms), (Some(T0), None), "a restart ends nothing");
        for id in ["new", "old"] {
            assert_eq!(pod.container_by_id(id).map(|c| c.name.as_str()), Some("main"), "{id}");
        }
        let roles: Vec<Role> = pod.containers.iter().map(|c| c.role).collect();
        assert_eq!(roles, [Role::Init, Role::Sidecar, Role::App]);
    }

    #[test]
    fn a_reservation_pod_is_known_by_its_namespace_and_group() {
        let pod = |namespace: &str| {
            read(&format!(
                r#"{{"metadata":{{"name":"r","namespace":"{namespace}","uid":"u","labels":{{"runai-gpu-group":"g1"}}}}}}"#
            ))
        };
        assert!(pod("kai-resource-reservation").reserves);
        assert!(!pod("team-a").reserves, "a workload of the group isn't one");
        assert_eq!(pod("team-a").gpu_groups, ["g1"]);
    }
}
