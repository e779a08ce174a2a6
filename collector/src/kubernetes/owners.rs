//! Owner records of pods. The container's id isn't part of one: a container that restarts stays the same workload.

use super::cluster::Cluster;
use super::pod::PodFacts;
use crate::allocation::OwnerId;
use schema::owner::{Owner, OwnerKind, key};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Container name within the pod.
pub const CONTAINER: &str = "container";
/// Priority class.
pub const PRIORITY_CLASS: &str = "priority_class";

/// The record of a pod, or of one container of it.
pub fn of_pod(pod: &PodFacts, container: Option<&str>, cluster: &Cluster) -> Owner {
    let mut attributes = BTreeMap::from([
        (key::NAMESPACE.to_owned(), pod.namespace.clone()),
        (key::POD.to_owned(), pod.name.clone()),
        (key::POD_UID.to_owned(), pod.uid.clone()),
    ]);
    if let Some(container) = container {
        attributes.insert(CONTAINER.into(), container.to_owned());
    }
    if let Some(class) = &pod.priority_class {
        attributes.insert(PRIORITY_CLASS.into(), class.clone());
    }
    attributes
        .extend(pod.labels.iter().map(|(label, value)| (format!("{}{label}", key::LABEL), value.clone())));
    let namespace = cluster.namespaces.get(&pod.namespace).into_iter().flatten();
    attributes
        .extend(namespace.map(|(label, value)| (format!("{}{label}", key::NAMESPACE_LABEL), value.clone())));
    let hash = pod.static_hash.as_ref().map(|hash| format!(", static pod {hash}")).unwrap_or_default();
    let evidence = format!("API server: pod {} of namespace {}{hash}", pod.name, pod.namespace);
    Owner { kind: OwnerKind::Kubernetes, attributes, evidence }
}

/// The record of a container that only the kubelet tells of: without a UID.
pub fn bare(namespace: &str, pod: &str, container: &str) -> Owner {
    let attributes = BTreeMap::from([
        (key::NAMESPACE.to_owned(), namespace.to_owned()),
        (key::POD.to_owned(), pod.to_owned()),
        (CONTAINER.to_owned(), container.to_owned()),
    ]);
    let evidence = format!(
        "kubelet PodResources: pod {pod} of namespace {namespace}; the API server doesn't tell of it"
    );
    Owner { kind: OwnerKind::Kubernetes, attributes, evidence }
}

/// Every pod's record by what cgroups tell of it: the pod's UID, or a static pod's config hash, and the container's id.
pub fn by_cgroup(cluster: &Cluster) -> BTreeMap<OwnerId, Arc<Owner>> {
    let mut owners = BTreeMap::new();
    for pod in cluster.pods.values() {
        let uids = || std::iter::once(&pod.uid).chain(&pod.static_hash);
        let whole = Arc::new(of_pod(pod, None, cluster));
        owners.extend(uids().map(|uid| ((OwnerKind::Kubernetes, uid.clone()), whole.clone())));
        for container in pod.containers.iter().filter(|container| !container.ids.is_empty()) {
            let owner = Arc::new(of_pod(pod, Some(&container.name), cluster));
            for uid in uids() {
                let ids = container
                    .ids
                    .iter()
                    .map(|id| ((OwnerKind::Kubernetes, format!("{uid}/{id}")), owner.clone()));
                owners.extend(ids);
            }
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::super::config::KubernetesConfig;
    use super::*;

    fn cluster(pod: &str) -> Cluster {
        let config = KubernetesConfig { pod_labels: vec!["team".into()], ..KubernetesConfig::default() };
        let pod = PodFacts::read(&serde_json::from_str(pod).expect("a pod"), &config);
        let labels = BTreeMap::from([("cost-centre".to_owned(), "4711".to_owned())]);
        Cluster {
            pods: [(pod.uid.clone(), pod)].into(),
            namespaces: [("vision".to_owned(), labels)].into(),
            ..Cluster::default()
        }
    }

    #[test]
    fn a_static_pod_is_one_pod_whichever_uid_is_read() {
        let cluster = cluster(
            r#"{"metadata":{"name":"m","namespace":"vision","uid":"mirror","labels":{"team":"x"},
                "annotations":{"kubernetes.io/config.hash":"9729a196c4723b60ab401eaff722982d"}},
              "spec":{"containers":[{"name":"main"}]},
              "status":{"containerStatuses":[{"name":"main","containerID":"containerd://c1"}]}}"#,
        );
        let owners = by_cgroup(&cluster);
        let at = |id: &str| &owners[&(OwnerKind::Kubernetes, id.to_owned())];
        let by_hash = at("9729a196c4723b60ab401eaff722982d/c1");
        assert_eq!(by_hash.workload(), at("mirror/c1").workload());
        let shown: Vec<String> = by_hash.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            shown,
            [
                "container=main",
                "label:team=x",
                "namespace=vision",
                "namespace_label:cost-centre=4711",
                "pod=m",
                "pod_uid=mirror"
            ]
        );
    }

    #[test]
    fn a_container_that_restarts_is_the_same_workload() {
        let with = |id: &str| {
            cluster(&format!(
                r#"{{"metadata":{{"name":"p","namespace":"vision","uid":"u"}},"spec":{{"containers":[{{"name":"main"}}]}},
                  "status":{{"containerStatuses":[{{"name":"main","containerID":"containerd://{id}"}}]}}}}"#
            ))
        };
        let workload =
            |id: &str| by_cgroup(&with(id))[&(OwnerKind::Kubernetes, format!("u/{id}"))].workload();
        assert_eq!(workload("old"), workload("new"));
    }
}
