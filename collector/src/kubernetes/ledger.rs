//! Holds over time: what opened when, what closed when. The law: an edge is the scheduler's own instant where it tells
//! one, else the last instant at which it was known; no hold is stretched over what nobody said.

mod restart;

use super::cluster::Departed;
use super::device_id::DeviceRef;
use super::holds::{Hold, Part};
use crate::allocation::{Allocation, DeviceName, Target};
use schema::owner::{Owner, key};
use schema::share::Share;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long an ended hold is kept, milliseconds: windows of its time are closed well before.
pub const RETENTION_MS: i64 = 15 * 60 * 1000;

/// Ended holds that are kept: a bound on what churn can cost.
const ENDED_MAX: usize = 4096;

/// A hold between two instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    pod: String,
    container: Option<String>,
    target: DeviceRef,
    part: Part,
    owner: Arc<Owner>,
    from_ms: i64,
    to_ms: Option<i64>,
    /// The kubelet's last list with it, Unix milliseconds.
    seen_ms: Option<i64>,
    /// Its owner was known in full: before that, a fuller record replaces it; after, another record is a change.
    settled: bool,
}

type Key = (String, Option<String>, DeviceRef);

/// Where the sources stand at an update.
#[derive(Debug, Clone, Copy)]
pub struct Instant<'a> {
    /// Now, Unix milliseconds.
    pub now_ms: i64,
    /// When the kubelet last listed, Unix milliseconds; `None` before it ever did.
    pub listed_ms: Option<i64>,
    /// Owners are known in full.
    pub settled: bool,
    /// Pods that went.
    pub departed: &'a [Departed],
    /// UIDs of pods that live by the API server's word.
    pub living: &'a BTreeSet<String>,
}

/// Every hold that is open or ended lately.
#[derive(Debug, Default)]
pub struct Ledger {
    open: BTreeMap<Key, Stretch>,
    ended: Vec<Stretch>,
    restored: restart::Restored,
}

impl Ledger {
    /// Takes over what holds now.
    pub fn update(&mut self, holds: Vec<Hold>, at: Instant<'_>) {
        let mut seen: BTreeSet<Key> = BTreeSet::new();
        for hold in holds {
            let key = (hold.pod.clone(), hold.container.clone(), hold.target.clone());
            if seen.insert(key.clone()) {
                self.take(key, hold, at);
            }
        }
        self.answer(at);
        let gone: Vec<Key> = self.open.keys().filter(|key| !seen.contains(*key)).cloned().collect();
        for key in gone {
            // A living pod is never taken its devices: the kubelet has restarted and lists nobody yet, or what its share
            // follows from can't be asked just now.
            if at.living.contains(&key.0) {
                continue;
            }
            let Some(mut stretch) = self.open.remove(&key) else { continue };
            // The same pod, by now known by its UID: that record covers this one's time, also where the pod had ended
            // before the kubelet ceased to list it.
            let is_named = at.departed.iter().any(|pod| pod.has_name(&key.0));
            let told = self.open.values().chain(self.ended.iter().filter(|_| is_named));
            if told.into_iter().any(|known| known.is_fuller_than(&stretch)) {
                continue;
            }
            let departed = at.departed.iter().rev().find(|pod| pod.uid == key.0);
            let end_ms = match departed {
                Some(pod) if pod.is_told => Some(pod.to_ms),
                // It vanished unseen: whoever saw it last knows best.
                Some(pod) => Some(pod.to_ms).max(stretch.seen_ms),
                None => at.listed_ms,
            };
            let to_ms = end_ms.unwrap_or(at.now_ms).min(at.now_ms);
            stretch.to_ms = Some(to_ms.max(stretch.from_ms));
            self.ended.push(stretch);
        }
        let keep_from_ms = self.restored.keep_from_ms(at.now_ms);
        self.ended.retain(|stretch| stretch.to_ms.is_none_or(|to| to > keep_from_ms));
        let over = self.ended.len().saturating_sub(ENDED_MAX);
        self.ended.drain(..over);
    }

    fn take(&mut self, key: Key, hold: Hold, at: Instant<'_>) {
        let known = self.open.remove(&key).or_else(|| self.restored.take(&key));
        let seen_first = at.listed_ms.unwrap_or(at.now_ms);
        let from_ms = match (&known, hold.from_ms) {
            // A later word on when it began doesn't move what was already reported.
            (Some(known), _) if known.settled => known.from_ms,
            (_, Some(from_ms)) => from_ms,
            (Some(known), None) => known.from_ms,
            (None, None) => seen_first,
        };
        let mut next = Stretch {
            pod: hold.pod,
            container: hold.container,
            target: hold.target,
            part: hold.part,
            owner: Arc::new(hold.owner),
            from_ms,
            to_ms: hold.to_ms.map(|to| to.max(from_ms)),
            seen_ms: at.listed_ms,
            settled: at.settled,
        };
        if let Some(known) = known {
            if known.owner == next.owner {
                next.owner = known.owner.clone();
            }
            let is_same = known.owner == next.owner && known.part == next.part;
            if known.settled && !is_same {
                // What changed as the hold ended changed nothing that was held.
                next.from_ms = next.to_ms.map_or(at.now_ms, |to| to.min(at.now_ms)).max(known.from_ms);
                self.ended.push(Stretch { to_ms: Some(next.from_ms), ..known });
            }
        }
        let is_over = next.to_ms.is_some_and(|to| to <= at.now_ms);
        if !is_over {
            self.open.insert(key, next);
        } else if !self.ended.iter().any(|own| {
            own.pod == next.pod
                && own.container == next.container
                && own.target == next.target
                && own.to_ms == next.to_ms
        }) {
            self.ended.push(next);
        }
    }

    /// Holds in force.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// All of it as allocations: groups are divided among those who are there at each instant.
    pub fn allocations(&self) -> Vec<Allocation> {
        let mut groups: BTreeMap<(&Share, &str), Vec<&Stretch>> = BTreeMap::new();
        let mut out = Vec::new();
        for stretch in self.ended.iter().chain(self.restored.unanswered()).chain(self.open.values()) {
            match &stretch.part {
                Part::Fixed(share) => out.push(stretch.given(*share, stretch.from_ms, stretch.to_ms)),
                Part::Equal { of, group } => groups.entry((of, group.as_str())).or_default().push(stretch),
            }
        }
        for ((of, _), members) in groups {
            divide(*of, &members, &mut out);
        }
        out.retain(|given| given.to_ms.is_none_or(|to| to > given.from_ms));
        out
    }
}

impl Stretch {
    /// Whether this is the same container's hold, with the pod's UID where the other has its name only.
    fn is_fuller_than(&self, other: &Stretch) -> bool {
        let attribute = |stretch: &Stretch, name: &str| stretch.owner.attributes.get(name).cloned();
        let same = |name: &str| attribute(self, name) == attribute(other, name);
        let fuller = attribute(self, key::POD_UID).is_some() && attribute(other, key::POD_UID).is_none();
        fuller && self.target == other.target && same(key::POD) && same(key::NAMESPACE)
    }

    fn is_there(&self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && self.to_ms.is_none_or(|to| at_ms < to)
    }

    fn given(&self, share: Share, from_ms: i64, to_ms: Option<i64>) -> Allocation {
        Allocation { target: target(&self.target), owner: self.owner.clone(), share, from_ms, to_ms }
    }
}

/// At every instant the members' parts sum to `of`: equal by pod, a pod's part equal by container.
fn divide(of: Share, members: &[&Stretch], out: &mut Vec<Allocation>) {
    let edges: BTreeSet<i64> =
        members.iter().flat_map(|m| std::iter::once(m.from_ms).chain(m.to_ms)).collect();
    let edges: Vec<i64> = edges.into_iter().collect();
    for member in members {
        let mut last: Option<Allocation> = None;
        for (at, from_ms) in edges.iter().enumerate().filter(|(_, from)| member.is_there(**from)) {
            let there = members.iter().filter(|m| m.is_there(*from_ms));
            let pods: BTreeSet<&str> = there.clone().map(|m| m.pod.as_str()).collect();
            let own = there.filter(|m| m.pod == member.pod).count();
            let parts = u32::try_from(pods.len() * own).unwrap_or(u32::MAX).max(1);
            let share = Share::new(1, parts).of(of);
            let to_ms = edges.get(at + 1).copied();
            match &mut last {
                Some(last) if last.share == share => last.to_ms = to_ms,
                _ => out.extend(last.replace(member.given(share, *from_ms, to_ms))),
            }
        }
        out.extend(last);
    }
}

fn target(device: &DeviceRef) -> Target {
    match device {
        DeviceRef::Gpu(uuid) => DeviceName::Uuid(uuid.clone()).into(),
        DeviceRef::Mig(uuid) => DeviceName::MigUuid(uuid.clone()).into(),
        DeviceRef::LegacyMig { gpu, gpu_instance, compute_instance } => Target {
            device: DeviceName::Uuid(gpu.clone()),
            gpu_instance: Some(*gpu_instance),
            compute_instance: Some(*compute_instance),
        },
        DeviceRef::Minor { minor, gpu_instance } => {
            Target { device: DeviceName::Minor(*minor), gpu_instance: *gpu_instance, compute_instance: None }
        }
        DeviceRef::Index(index) => DeviceName::Index(*index).into(),
    }
}

#[cfg(test)]
mod tests;
