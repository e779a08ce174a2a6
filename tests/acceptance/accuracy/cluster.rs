//! A cluster that shows a case's pods as they are at an instant: to the kubelet's clients, and at the API server with the
//! times that the kubelet reports.

use super::case::{Case, Given, Holder, START_MS, pod_uid};
use collector::allocation::Allocation;
use collector::kubernetes::Witness;
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::container_id;
use harness::kubernetes::kubelet::{Knowledge, Kubelet};
use schema::owner::key;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DRA: &str = "/apis/resource.k8s.io/v1";

/// A kubelet and an API server that know one case.
pub struct Cluster<'a> {
    case: &'a Case,
    knowledge: Knowledge,
    /// The API server.
    pub api: ApiServer,
    _kubelet: Kubelet,
    running: BTreeSet<String>,
    ended: BTreeSet<String>,
}

impl<'a> Cluster<'a> {
    /// A cluster with devices and without pods; its socket lies in `dir`.
    pub fn start(dir: &Path, case: &'a Case) -> Self {
        let (knowledge, api) = (Knowledge::default(), ApiServer::start());
        for (device, slots) in &case.slots {
            knowledge.offer(device, *slots);
        }
        for (claim, name, gpu) in &case.claims {
            let device = json!({"name": name, "attributes": {"uuid": {"string": case.uuid(*gpu)}}});
            let spec = json!({"driver": "gpu.nvidia.com", "pool": {"name": "n1"}, "devices": [device]});
            api.put(&format!("{DRA}/resourceslices"), json!({"metadata": {"name": name}, "spec": spec}));
            let result = json!({"driver": "gpu.nvidia.com", "pool": "n1", "device": name});
            let status = json!({"allocation": {"devices": {"results": [result]}}});
            let object = json!({"metadata": {"name": claim, "namespace": "ns"}, "status": status});
            api.put(&format!("{DRA}/namespaces/ns/resourceclaims"), object);
        }
        let kubelet = Kubelet::start(dir, &knowledge);
        Self { case, knowledge, api, _kubelet: kubelet, running: BTreeSet::new(), ended: BTreeSet::new() }
    }

    /// Where its kubelet listens.
    pub fn socket(dir: &Path) -> PathBuf {
        dir.join("kubelet.sock")
    }

    /// Shows pods as they are at a second. One that has ended stays at the API server, as a completed job does; the
    /// kubelet lists it until [`Cluster::forget`], because the API server's word is there first.
    pub fn show(&mut self, at_s: i64) {
        for holder in &self.case.holders {
            if holder.start_s <= at_s && self.running.insert(holder.name.clone()) {
                self.give(holder);
                self.api.put(PODS, pod(holder, None));
            }
            let has_ended = holder.end_s.is_some_and(|end| end <= at_s);
            if has_ended && self.ended.insert(holder.name.clone()) {
                self.api.put(PODS, pod(holder, holder.end_s));
            }
        }
    }

    /// The kubelet no longer lists what has ended.
    pub fn forget(&self) {
        self.ended.iter().for_each(|name| self.knowledge.take(name));
    }

    fn give(&self, holder: &Holder) {
        for hold in &holder.holds {
            match &hold.given {
                Given::Plugin(resource, ids) => self.knowledge.give(&holder.name, "main", resource, ids),
                Given::Hami(id, ..) => {
                    self.knowledge.give(&holder.name, "main", "nvidia.com/gpu", &[format!("{id}-0")])
                }
                Given::Claim(claim, device) => self.knowledge.claim(&holder.name, "main", claim, device),
                Given::Present => {}
            }
        }
    }

    /// Whether a witness's word reaches to a second and says who holds what then: everyone who lives everything, and
    /// nobody else anything.
    pub fn is_told(&self, witness: &Witness, at_s: i64) -> Option<()> {
        let said = witness.board.current();
        if said.known_until_ms < START_MS + at_s * 1000 {
            return None;
        }
        let open = |name: &str| {
            let is_own = |held: &&Allocation| {
                let attributes = &held.owner.attributes;
                attributes.get(key::POD).is_some_and(|pod| pod == name)
                    && attributes.contains_key(key::POD_UID)
            };
            let is_open = |held: &&Allocation| held.to_ms.is_none_or(|to| to > START_MS + at_s * 1000);
            said.held.iter().filter(is_own).filter(is_open).count()
        };
        let wants = |holder: &Holder| if holder.lives(at_s) { holder.holds.len() } else { 0 };
        self.case.holders.iter().all(|holder| open(&holder.name) == wants(holder)).then_some(())
    }
}

/// The pod as the API server has it.
fn pod(holder: &Holder, ended_s: Option<i64>) -> Value {
    let at = |second: i64| {
        let instant = chrono::DateTime::from_timestamp_millis(START_MS + second * 1000);
        instant.expect("an instant of that day").to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    };
    let state = match ended_s {
        None => json!({"running": {"startedAt": at(holder.start_s)}}),
        Some(end) => json!({"terminated": {"startedAt": at(holder.start_s), "finishedAt": at(end)}}),
    };
    let id = format!("containerd://{}", container_id(&holder.name));
    let mut limits = json!({});
    if holder.gpus > 0 {
        limits["nvidia.com/gpu"] = holder.gpus.to_string().into();
    }
    let mut annotations = json!({});
    for hold in &holder.holds {
        match &hold.given {
            Given::Plugin(resource, _) if holder.gpus == 0 => limits[resource] = "1".into(),
            Given::Hami(uuid, memory_mib, cores) => {
                annotations["hami.io/vgpu-devices-allocated"] =
                    format!("{uuid},NVIDIA,{memory_mib},{cores}:;").into();
            }
            _ => {}
        }
    }
    json!({
        "metadata": {"name": holder.name, "namespace": "ns", "uid": pod_uid(&holder.name), "annotations": annotations},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {
            "phase": if ended_s.is_some() { "Succeeded" } else { "Running" },
            "startTime": at(holder.start_s),
            "containerStatuses": [{"name": "main", "containerID": id, "state": state}],
        }
    })
}
