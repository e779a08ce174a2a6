//! Host memory of the workloads that use devices, on nodes where host memory has tiers: NUMA nodes without processors, such
//! as CXL expanders, beside those with. Reported, never priced.
//!
//! A workload's memory is that of its processes' control groups (version 2), read with every process list; what was read
//! stands until the next reading. A group within another is counted with it, once.

mod numa;

use crate::owner::OwnerRecord;
use crate::slice::Closed;
use schema::id::WorkloadId;
use schema::units::QUARTER_MS;
use schema::window::Window;
use schema::wire;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reading that is older than this many periods says nothing of the time since.
const GAP_PERIODS: i64 = 3;

/// A process that is on a device now.
#[derive(Debug, Clone)]
pub struct Resident {
    /// Host PID.
    pub pid: u32,
    /// Kernel's start time; with the PID its identity.
    pub start_ticks: u64,
    /// Whose.
    pub owner: Arc<OwnerRecord>,
}

/// What a workload had at the last reading.
struct Held {
    owner: Arc<OwnerRecord>,
    near_bytes: u64,
    far_bytes: u64,
}

/// Integrals of one workload in one quarter hour.
struct Sum {
    owner: Arc<OwnerRecord>,
    row: wire::HostMemory,
}

/// The state of the readings.
pub struct HostMemory {
    procfs: PathBuf,
    control_groups: PathBuf,
    far: BTreeSet<u32>,
    period_ms: i64,
    next_ms: i64,
    read_ms: Option<i64>,
    held: BTreeMap<WorkloadId, Held>,
    sums: BTreeMap<(i64, WorkloadId), Sum>,
    /// Control group by PID and start time: it is read once.
    groups: HashMap<u32, (u64, Option<String>)>,
}

impl HostMemory {
    /// Over the `/sys` and `/proc` of a node whose processes are listed every `period_ms`; `None` where its memory has no
    /// tiers.
    pub fn open(sysfs: &Path, procfs: &Path, period_ms: i64) -> Option<Self> {
        let far = numa::far_nodes(sysfs);
        if far.is_empty() {
            return None;
        }
        Some(Self {
            procfs: procfs.to_owned(),
            control_groups: sysfs.join("fs/cgroup"),
            far,
            period_ms,
            next_ms: i64::MIN,
            read_ms: None,
            held: BTreeMap::new(),
            sums: BTreeMap::new(),
            groups: HashMap::new(),
        })
    }

    /// Reads what these processes' workloads have, where it is time to.
    pub fn observe(&mut self, now_ms: i64, residents: impl Iterator<Item = Resident>) {
        if now_ms < self.next_ms {
            return;
        }
        self.next_ms = (now_ms.div_euclid(self.period_ms) + 1) * self.period_ms;
        self.integrate(now_ms);
        let residents: Vec<Resident> = residents.collect();
        self.groups.retain(|pid, _| residents.iter().any(|resident| resident.pid == *pid));
        let mut by_workload: BTreeMap<WorkloadId, (Arc<OwnerRecord>, BTreeSet<String>)> = BTreeMap::new();
        for resident in residents {
            let Some(group) = self.group(resident.pid, resident.start_ticks) else { continue };
            let entry = by_workload.entry(resident.owner.workload);
            entry.or_insert_with(|| (resident.owner, BTreeSet::new())).1.insert(group);
        }
        self.held = by_workload
            .into_iter()
            .filter_map(|(workload, (owner, groups))| {
                let (near_bytes, far_bytes) = self.sum(&groups)?;
                Some((workload, Held { owner, near_bytes, far_bytes }))
            })
            .collect();
        self.read_ms = Some(now_ms);
    }

    /// Puts the rows that are complete up to `now_ms` into one of these slices, with which they travel.
    pub fn attach(&mut self, closed: &mut [Closed]) {
        if let Some(first) = closed.first_mut() {
            let sums = std::mem::take(&mut self.sums);
            first.host_memory.extend(sums.into_values().map(|sum| (sum.row, sum.owner)));
        }
    }

    fn integrate(&mut self, now_ms: i64) {
        let Some(from_ms) = self.read_ms.filter(|at| now_ms - at <= GAP_PERIODS * self.period_ms) else {
            return;
        };
        if from_ms >= now_ms {
            return;
        }
        let boundary = (from_ms.div_euclid(QUARTER_MS) + 1) * QUARTER_MS;
        for piece in Window::new(from_ms, now_ms).cut_at(&[boundary]) {
            let quarter = piece.start_ms.div_euclid(QUARTER_MS);
            let ms = u64::try_from(piece.len_ms()).expect("a piece has a length");
            for (workload, held) in &self.held {
                let new = || Sum {
                    owner: held.owner.clone(),
                    row: wire::HostMemory { start_ms: piece.start_ms, ..wire::HostMemory::default() },
                };
                let row = &mut self.sums.entry((quarter, *workload)).or_insert_with(new).row;
                row.end_ms = piece.end_ms;
                row.near_byte_ms = row.near_byte_ms.saturating_add(held.near_bytes.saturating_mul(ms));
                row.far_byte_ms = row.far_byte_ms.saturating_add(held.far_bytes.saturating_mul(ms));
            }
        }
    }

    /// The process's control group of version 2, as a path below the root.
    fn group(&mut self, pid: u32, start_ticks: u64) -> Option<String> {
        if let Some((_, group)) = self.groups.get(&pid).filter(|(ticks, _)| *ticks == start_ticks) {
            return group.clone();
        }
        let file = std::fs::read_to_string(self.procfs.join(format!("{pid}/cgroup"))).unwrap_or_default();
        let path = file.lines().find_map(|line| line.strip_prefix("0::/"));
        // A path that leads up is another namespace's: it names nothing here.
        let path = path.filter(|path| !path.is_empty() && path.split('/').all(|part| part != ".."));
        let group = path.map(str::to_owned);
        self.groups.insert(pid, (start_ticks, group.clone()));
        group
    }

    /// Near and far bytes of these groups; `None` where one of them can't be read.
    fn sum(&self, groups: &BTreeSet<String>) -> Option<(u64, u64)> {
        let is_within = |group: &String| {
            groups.iter().any(|other| group.strip_prefix(&**other).is_some_and(|rest| rest.starts_with('/')))
        };
        let (mut near_bytes, mut far_bytes) = (0u64, 0u64);
        for group in groups.iter().filter(|group| !is_within(group)) {
            let stat =
                std::fs::read_to_string(self.control_groups.join(group).join("memory.numa_stat")).ok()?;
            let (near, far) = numa::held(&stat, &self.far)?;
            (near_bytes, far_bytes) = (near_bytes.saturating_add(near), far_bytes.saturating_add(far));
        }
        Some((near_bytes, far_bytes))
    }
}

#[cfg(test)]
mod tests;
