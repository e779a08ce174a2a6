//! Who holds what now, from the kubelet's list and the cluster: pure. Pods that are known to have ended lose to living
//! ones, whatever the kubelet still lists; what can't be resolved is counted by reason and held by nobody.

use super::cluster::Cluster;
use super::config::KubernetesConfig;
use super::device_id::{DeviceId, DeviceRef, Slot};
use super::dra::{self, Charged};
use super::fractions::{GrantedDevice, add, compare, over};
use super::owners;
use super::pod::{PodFacts, Role};
use super::podresources::{ClaimDevice, KubeletView, PodDevices};
use schema::owner::Owner;
use schema::share::Share;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much of its target a hold is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// This share.
    Fixed(Share),
    /// This share in equal parts among the pods of the group, and a pod's part among its containers.
    Equal {
        /// What is divided.
        of: Share,
        /// Among whom.
        group: String,
    },
}

/// One container's hold on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// UID, or `namespace/name` where the kubelet alone tells of the pod.
    pub pod: String,
    /// Container; `None` for the pod as a whole.
    pub container: Option<String>,
    /// Device or MIG device.
    pub target: DeviceRef,
    /// How much of it.
    pub part: Part,
    /// Since when, Unix milliseconds; `None` where only the listing tells.
    pub from_ms: Option<i64>,
    /// Until when, Unix milliseconds; `None` while it lasts.
    pub to_ms: Option<i64>,
    /// Whose it is.
    pub owner: Owner,
}

/// Holds, and what couldn't be resolved.
#[derive(Debug, Default)]
pub struct Holds {
    /// The holds.
    pub holds: Vec<Hold>,
    /// Counts by reason.
    pub unresolved: BTreeMap<&'static str, u64>,
}

/// A part of a device that was granted: to which container, what that is to its pod, how much.
type Granted<'a> = (Option<&'a str>, Role, Share);

/// Memory of devices in MiB, where known.
pub type MemoryMib<'a> = &'a dyn Fn(&DeviceRef) -> Option<u32>;

/// Who holds what.
pub fn holds(
    cluster: &Cluster,
    view: &KubeletView,
    config: &KubernetesConfig,
    memory: MemoryMib<'_>,
) -> Holds {
    let mut out = Gathering { cluster, view, memory, all: Holds::default() };
    for pod in cluster.pods.values().filter(|pod| pod.from_ms.is_some() && !pod.reserves) {
        let listed =
            view.pods.iter().find(|listed| listed.namespace == pod.namespace && listed.name == pod.name);
        out.pod(pod, listed);
    }
    for listed in &view.pods {
        if cluster.pod(&listed.namespace, &listed.name).is_none() {
            out.unknown_pod(listed, config);
        }
    }
    out.all
}

struct Gathering<'a> {
    cluster: &'a Cluster,
    view: &'a KubeletView,
    memory: MemoryMib<'a>,
    all: Holds,
}

impl Gathering<'_> {
    fn unresolved(&mut self, reason: &'static str) {
        *self.all.unresolved.entry(reason).or_default() += 1;
    }

    fn push(&mut self, pod: &PodFacts, container: Option<&str>, target: DeviceRef, part: Part) {
        let hold = Hold {
            pod: pod.uid.clone(),
            container: container.map(str::to_owned),
            target,
            part,
            from_ms: pod.from_ms,
            to_ms: pod.to_ms,
            owner: owners::of_pod(pod, container, self.cluster),
        };
        let same =
            |own: &&Hold| own.pod == hold.pod && own.target == hold.target && own.container == hold.container;
        // One device is one hold, though both a device plugin and a claim may list it.
        if self.all.holds.iter().find(same).is_none() {
            self.all.holds.push(hold);
        }
    }

    fn pod(&mut self, pod: &PodFacts, listed: Option<&PodDevices>) {
        if let Some(which) = pod.unreadable {
            self.unresolved(which);
        }
        self.fractions(pod);
        if !pod.grants.is_empty() {
            return self.grants(pod);
        }
        let Some(listed) = listed else { return };
        for (container, device, part) in self.plugin_parts(listed, &|name| pod.role(name)) {
            self.push(pod, Some(&container), device, part);
        }
        for container in &listed.containers {
            for entry in &container.claims {
                match self.claim(entry) {
                    Ok(Some((target, part))) => self.push(pod, Some(&container.name), target, part),
                    Ok(None) => {}
                    Err(reason) => self.unresolved(reason),
                }
            }
        }
    }

    /// HAMi's and gpushare's annotations. On each device an init container and the others aren't there at once: what
    /// counts is the larger, and what an init container needs beyond the others is its own.
    fn grants(&mut self, pod: &PodFacts) {
        let mut by_device: BTreeMap<DeviceRef, Vec<Granted<'_>>> = BTreeMap::new();
        for grant in &pod.grants {
            let device = match &grant.device {
                GrantedDevice::Uuid(uuid) => match uuid.parse::<DeviceId>() {
                    Ok(id) => id.device,
                    Err(_) => {
                        self.unresolved("granted_device_unknown");
                        continue;
                    }
                },
                GrantedDevice::Index(index) => DeviceRef::Index(*index),
            };
            let Some(share) = grant.amount.share((self.memory)(&device)) else {
                self.unresolved("device_memory_unknown");
                continue;
            };
            let container = grant.container.as_deref();
            by_device.entry(device).or_default().push((
                container,
                container.map_or(Role::App, |name| pod.role(name)),
                share,
            ));
        }
        for (device, parts) in by_device {
            let beside = parts.iter().filter(|(_, role, _)| *role != Role::Init);
            let together = beside.clone().fold(Share::NONE, |sum, (_, _, share)| add(sum, *share));
            let largest =
                parts.iter().filter(|(_, role, _)| *role == Role::Init).max_by(|a, b| compare(a.2, b.2));
            for (container, _, share) in beside {
                self.push(pod, *container, device.clone(), Part::Fixed(*share));
            }
            if let Some((container, _, share)) = largest
                && compare(*share, together).is_gt()
            {
                self.push(pod, *container, device, Part::Fixed(over(*share, together)));
            }
        }
    }

    /// KAI's and Run:ai's fractions of the devices that their reservation pods hold.
    fn fractions(&mut self, pod: &PodFacts) {
        let Some(amount) = pod.fraction else { return };
        for group in &pod.gpu_groups {
            let devices = self.reserved(group);
            if devices.is_empty() {
                self.unresolved("group_without_device");
            }
            for device in devices {
                match amount.share((self.memory)(&device)) {
                    Some(share) => self.push(pod, None, device, Part::Fixed(share)),
                    None => self.unresolved("device_memory_unknown"),
                }
            }
        }
    }

    fn reserved(&self, group: &String) -> Vec<DeviceRef> {
        let pods = self
            .cluster
            .pods
            .values()
            .filter(|pod| pod.reserves && pod.to_ms.is_none() && pod.gpu_groups.contains(group));
        let listed = pods.flat_map(|pod| {
            self.view.pods.iter().filter(|own| own.namespace == pod.namespace && own.name == pod.name)
        });
        let ids = listed.flat_map(|own| own.containers.iter().flat_map(|container| container.devices.iter()));
        ids.map(|id| id.device.clone()).collect()
    }

    /// Device plugins' devices: whole ones, or slots among the device's slots. An id that several containers list (an
    /// init container's devices go on to the others) is held once.
    fn plugin_parts(
        &mut self,
        listed: &PodDevices,
        role: &dyn Fn(&str) -> Role,
    ) -> Vec<(String, DeviceRef, Part)> {
        let mut holder: BTreeMap<&DeviceId, &str> = BTreeMap::new();
        let rank = |name: &str| match role(name) {
            Role::App => 2,
            Role::Sidecar => 1,
            Role::Init => 0,
        };
        for container in &listed.containers {
            for id in &container.devices {
                let best = holder.entry(id).or_insert(&container.name);
                if rank(&container.name) > rank(best) {
                    *best = &container.name;
                }
            }
        }
        let mut slots: BTreeMap<(String, DeviceRef), u32> = BTreeMap::new();
        let mut parts = Vec::new();
        for (id, container) in holder {
            match id.slot {
                None => {
                    let part = Part::Equal { of: Share::WHOLE, group: format!("{:?}", id.device) };
                    parts.push((container.to_owned(), id.device.clone(), part));
                }
                Some(Slot::Replica(_)) => {
                    *slots.entry((container.to_owned(), id.device.clone())).or_default() += 1
                }
                Some(Slot::Hami(_)) => self.unresolved("hami_without_annotation"),
                Some(Slot::MemoryUnit(_)) => self.unresolved("gpushare_without_annotation"),
            }
        }
        for ((container, device), held) in slots {
            match self.view.slots.get(&device) {
                Some(all) => parts.push((container, device, Part::Fixed(Share::new(held.min(*all), *all)))),
                None => self.unresolved("slots_unknown"),
            }
        }
        parts
    }

    fn claim(&self, entry: &ClaimDevice) -> Result<Option<(DeviceRef, Part)>, &'static str> {
        let key = (entry.driver.clone(), entry.pool.clone(), entry.device.clone());
        let offered = self.cluster.offered(&key).ok_or("claim_device_unknown")?;
        let name = (entry.namespace.clone(), entry.claim.clone());
        let results = self.cluster.claims.get(&name).ok_or("claim_unknown")?;
        let part = match dra::charged(results, entry, offered).ok_or("claim_without_device")? {
            Charged::Never => return Ok(None),
            Charged::Share(of) => {
                let share_id = entry.share_id.as_deref().unwrap_or_default();
                Part::Equal {
                    of,
                    group: format!("claim {}/{} {:?} {share_id}", name.0, name.1, offered.device),
                }
            }
            Charged::Equally => {
                Part::Equal { of: Share::WHOLE, group: format!("claims on {:?}", offered.device) }
            }
        };
        Ok(Some((offered.device.clone(), part)))
    }

    /// A pod that the API server doesn't tell of: there is none, or the pod is dead, or too new.
    fn unknown_pod(&mut self, listed: &PodDevices, config: &KubernetesConfig) {
        let is_dead = self
            .cluster
            .departed
            .iter()
            .any(|pod| pod.namespace == listed.namespace && pod.name == listed.name);
        if is_dead || config.reservation_namespaces.contains(&listed.namespace) {
            return;
        }
        if listed.containers.iter().any(|container| !container.claims.is_empty()) {
            self.unresolved("claim_unknown");
        }
        let parts = self.plugin_parts(listed, &|_| Role::App);
        for (container, target, part) in parts {
            let is_taken = |own: &Hold| own.target == target && own.to_ms.is_none() && own.part == part;
            if self.cluster.pods_synced
                && matches!(part, Part::Equal { .. })
                && self.all.holds.iter().any(is_taken)
            {
                self.unresolved("dead_pod_listed");
                continue;
            }
            self.all.holds.push(Hold {
                pod: format!("{}/{}", listed.namespace, listed.name),
                container: Some(container.clone()),
                target,
                part,
                from_ms: None,
                to_ms: None,
                owner: owners::bare(&listed.namespace, &listed.name, &container),
            });
        }
    }
}

#[cfg(test)]
mod tests;
