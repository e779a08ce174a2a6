//! What is known of the cluster as far as it concerns this node, kept in step by the mirrors.

use super::config::KubernetesConfig;
use super::dra::{self, DeviceKey, OfferedDevice};
use super::objects::{self, ClaimResult};
use super::pod::{PodFacts, picked};
use super::watch::Mirror;
use crate::allocation::{OutOfUse, WhyOutOfUse};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A pod that is gone, to tell its last listing from a new pod of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departed {
    /// UID.
    pub uid: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// When it let go of its devices, Unix milliseconds.
    pub to_ms: i64,
    /// Whether that was told; else it vanished unseen and was last known to live then.
    pub is_told: bool,
}

impl Departed {
    /// Whether it is the pod that the kubelet alone would call `namespace/name`.
    pub fn has_name(&self, full_name: &str) -> bool {
        full_name.split_once('/') == Some((self.namespace.as_str(), self.name.as_str()))
    }
}

/// Departed pods that are remembered: a kubelet's list is seconds behind, and no node starts so many in that time.
const DEPARTED_MAX: usize = 1024;

/// Everything that mirrors know.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// Pods of this node by UID.
    pub pods: BTreeMap<String, PodFacts>,
    /// Pods that went lately, the oldest first.
    pub departed: VecDeque<Departed>,
    /// Labels of namespaces that the configuration asks for.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// DRA's devices by slice.
    pub slices: BTreeMap<String, Vec<(DeviceKey, OfferedDevice)>>,
    /// What claims were given, by namespace and name.
    pub claims: BTreeMap<(String, String), Vec<ClaimResult>>,
    /// Why the node isn't given out, if so.
    pub out_of_use: Option<OutOfUse>,
    /// Pods were listed at least once.
    pub pods_synced: bool,
    /// Namespaces were listed, or are not asked for.
    pub namespaces_synced: bool,
}

impl Cluster {
    /// A DRA device.
    pub fn offered(&self, key: &DeviceKey) -> Option<&OfferedDevice> {
        self.slices.values().flatten().find(|(own, _)| own == key).map(|(_, device)| device)
    }

    /// The living pod of this name.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&PodFacts> {
        self.pods.values().find(|pod| pod.namespace == namespace && pod.name == name)
    }

    /// Pods that are known to have ended: those that went, and completed ones that are still there.
    pub fn gone(&self) -> Vec<Departed> {
        let completed = self.pods.values().filter_map(|pod| {
            Some(Departed {
                uid: pod.uid.clone(),
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
                to_ms: pod.to_ms?,
                is_told: true,
            })
        });
        self.departed.iter().cloned().chain(completed).collect()
    }

    fn depart(&mut self, uid: &str, to_ms: i64, is_told: bool) {
        if let Some(pod) = self.pods.remove(uid) {
            let is_told = is_told || pod.to_ms.is_some();
            let to_ms = pod.to_ms.unwrap_or(to_ms);
            self.departed.push_back(Departed {
                uid: pod.uid,
                namespace: pod.namespace,
                name: pod.name,
                to_ms,
                is_told,
            });
            if self.departed.len() > DEPARTED_MAX {
                self.departed.pop_front();
            }
        }
    }
}

/// The cluster, shared between mirrors and whoever reads it; a reader can wait for a change.
#[derive(Debug, Clone, Default)]
pub struct Shared(Arc<(Mutex<(Cluster, u64)>, Condvar)>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Cluster, u64)> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it and wakes who waits.
    pub fn change(&self, change: impl FnOnce(&mut Cluster)) {
        let mut inner = self.lock();
        change(&mut inner.0);
        inner.1 += 1;
        self.0.1.notify_all();
    }

    /// Wakes who waits, though nothing in here changed.
    pub fn wake(&self) {
        self.change(|_| {});
    }

    /// Reads it; nothing changes meanwhile.
    pub fn read<T>(&self, read: impl FnOnce(&Cluster) -> T) -> T {
        read(&self.lock().0)
    }

    /// How often it has changed.
    pub fn generation(&self) -> u64 {
        self.lock().1
    }

    /// Waits until it has changed more often than `seen`, but no longer than `pause`.
    pub fn wait(&self, seen: u64, pause: Duration) {
        let inner = self.lock();
        drop(self.0.1.wait_timeout_while(inner, pause, |inner| inner.1 == seen));
    }
}

/// Keeps pods in step.
pub struct Pods {
    /// Where to.
    pub shared: Shared,
    /// What to keep of a pod.
    pub config: Arc<KubernetesConfig>,
    /// The wall clock, Unix milliseconds.
    pub now_ms: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// When the mirror last heard of pods, Unix milliseconds.
    pub heard_ms: i64,
}

impl Pods {
    fn heard(&mut self) {
        self.heard_ms = (self.now_ms)();
    }
}

impl Mirror<objects::Pod> for Pods {
    fn replaced(&mut self, all: Vec<objects::Pod>) {
        let pods: BTreeMap<String, PodFacts> =
            all.iter().map(|pod| (pod.metadata.uid.clone(), PodFacts::read(pod, &self.config))).collect();
        // Nothing said when they went: they are known to have been there up to the last word before the break.
        let last_word = self.heard_ms;
        self.shared.change(|cluster| {
            let gone: Vec<String> =
                cluster.pods.keys().filter(|uid| !pods.contains_key(*uid)).cloned().collect();
            gone.iter().for_each(|uid| cluster.depart(uid, last_word, false));
            cluster.pods = pods;
            cluster.pods_synced = true;
        });
        self.heard();
    }

    fn applied(&mut self, pod: objects::Pod) {
        let pod = PodFacts::read(&pod, &self.config);
        self.shared.change(|cluster| drop(cluster.pods.insert(pod.uid.clone(), pod)));
        self.heard();
    }

    fn deleted(&mut self, pod: objects::Pod) {
        self.heard();
        let pod = PodFacts::read(&pod, &self.config);
        let now_ms = self.heard_ms;
        self.shared.change(|cluster| {
            let uid = pod.uid.clone();
            cluster.pods.insert(uid.clone(), pod);
            cluster.depart(&uid, now_ms, true);
        });
    }
}

/// Keeps namespaces' labels in step.
pub struct Namespaces {
    /// Where to.
    pub shared: Shared,
    /// Which labels to keep.
    pub keys: Vec<String>,
}

impl Mirror<objects::Namespace> for Namespaces {
    fn replaced(&mut self, all: Vec<objects::Namespace>) {
        let kept = all.iter().map(|n| (n.metadata.name.clone(), picked(&n.metadata.labels, &self.keys)));
        let kept = kept.filter(|(_, labels)| !labels.is_empty()).collect();
        self.shared.change(|cluster| {
            cluster.namespaces = kept;
            cluster.namespaces_synced = true;
        });
    }

    fn applied(&mut self, namespace: objects::Namespace) {
        let labels = picked(&namespace.metadata.labels, &self.keys);
        self.shared.change(|cluster| {
            cluster.namespaces.insert(namespace.metadata.name, labels);
            cluster.namespaces.retain(|_, labels| !labels.is_empty());
        });
    }

    fn deleted(&mut self, namespace: objects::Namespace) {
        self.shared.change(|cluster| drop(cluster.namespaces.remove(&namespace.metadata.name)));
    }
}

/// Keeps DRA's devices in step.
pub struct Slices(pub Shared);

impl Mirror<objects::ResourceSlice> for Slices {
    fn replaced(&mut self, all: Vec<objects::ResourceSlice>) {
        let slices = all.iter().map(|slice| (slice.metadata.name.clone(), dra::offered(slice))).collect();
        self.0.change(|cluster| cluster.slices = slices);
    }

    fn applied(&mut self, slice: objects::ResourceSlice) {
        self.0
            .change(|cluster| drop(cluster.slices.insert(slice.metadata.name.clone(), dra::offered(&slice))));
    }

    fn deleted(&mut self, slice: objects::ResourceSlice) {
        self.0.change(|cluster| drop(cluster.slices.remove(&slice.metadata.name)));
    }
}

/// Keeps this node's condition in step.
pub struct ThisNode(pub Shared);

impl Mirror<objects::Node> for ThisNode {
    fn replaced(&mut self, all: Vec<objects::Node>) {
        let state = all.first().and_then(out_of_use);
        self.0.change(|cluster| cluster.out_of_use = state);
    }

    fn applied(&mut self, node: objects::Node) {
        let state = out_of_use(&node);
        // Nodes report every few seconds: only a change is one.
        if self.0.read(|cluster| cluster.out_of_use != state) {
            self.0.change(|cluster| cluster.out_of_use = state);
        }
    }

    fn deleted(&mut self, _: objects::Node) {
        self.0.change(|cluster| cluster.out_of_use = None);
    }
}

/// A node that isn't ready has failed; one that is cordoned is in maintenance.
pub fn out_of_use(node: &objects::Node) -> Option<OutOfUse> {
    let ms = |at: chrono::DateTime<chrono::Utc>| at.timestamp_millis();
    let ready = node.status.conditions.iter().find(|condition| condition.kind == "Ready");
    if let Some(ready) = ready.filter(|ready| ready.status != "True") {
        let reason = format!("node not ready: {}", ready.reason);
        return Some(OutOfUse {
            why: WhyOutOfUse::Failed,
            since_ms: ready.last_transition_time.map(ms),
            reason,
        });
    }
    let taint = node.spec.taints.iter().find(|taint| taint.key == "node.kubernetes.io/unschedulable");
    node.spec.unschedulable.then(|| OutOfUse {
        why: WhyOutOfUse::Maintenance,
        since_ms: taint.and_then(|taint| taint.time_added.map(ms)),
        reason: "node cordoned".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_not_ready_has_failed_and_a_cordoned_one_is_in_maintenance() {
        let read = |json: &str| out_of_use(&serde_json::from_str(json).expect("a node"));
        let since = Some(1_788_220_800_000);
        let ready = r#"{"type":"Ready","status":"True","lastTransitionTime":"2026-08-01T00:00:00Z"}"#;
        assert_eq!(read(&format!(r#"{{"status":{{"conditions":[{ready}]}}}}"#)), None);
        let lost = read(
            r#"{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","lastTransitionTime":"2026-09-01T00:00:00Z"}]}}"#,
        );
        assert_eq!(lost.map(|o| (o.why, o.since_ms)), Some((WhyOutOfUse::Failed, since)));
        let cordoned = read(
            r#"{"spec":{"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","timeAdded":"2026-09-01T00:00:00Z"}]}}"#,
        );
        assert_eq!(cordoned.map(|o| (o.why, o.since_ms)), Some((WhyOutOfUse::Maintenance, since)));
    }

    #[test]
    fn a_completed_pod_is_gone_at_its_own_end_whoever_still_lists_it() {
        let json = r#"{"metadata":{"name":"p","namespace":"a","uid":"u"},"status":{"phase":"Succeeded",
            "startTime":"2026-09-01T00:00:00Z","containerStatuses":[{"name":"main","state":
            {"terminated":{"finishedAt":"2026-09-01T00:10:00Z"}}}]}}"#;
        let pod = PodFacts::read(&serde_json::from_str(json).expect("a pod"), &KubernetesConfig::default());
        let cluster = Cluster { pods: [("u".to_owned(), pod)].into(), ..Cluster::default() };
        let gone: Vec<_> = cluster.gone().iter().map(|pod| (pod.to_ms, pod.is_told)).collect();
        assert_eq!(gone, [(1_788_221_400_000, true)]);
    }

    #[test]
    fn departed_pods_are_remembered_within_a_bound() {
        let mut cluster = Cluster::default();
        let json = r#"{"metadata":{"name":"p","namespace":"a","uid":"u"}}"#;
        let pod = PodFacts::read(&serde_json::from_str(json).expect("a pod"), &KubernetesConfig::default());
        for n in 0..10_000 {
            let uid = format!("u{n}");
            cluster.pods.insert(uid.clone(), PodFacts { uid: uid.clone(), ..pod.clone() });
            cluster.depart(&uid, n, true);
        }
        assert_eq!((cluster.pods.len(), cluster.departed.len()), (0, DEPARTED_MAX));
    }
}
