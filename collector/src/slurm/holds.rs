//! From answer after answer to holds: which job had which device from when to when. Pure: answers in, holds out.
//!
//! A run is a job id and when it was submitted, because a requeued run keeps its id and ids wrap. Slurm forgets which
//! devices a run had the moment that it ends, so the book remembers them; and it forgets the run itself some minutes
//! later (`MinJobAge`), so a run that is gone ends when it was last known, unless its successor says when.
//!
//! Of a run that was over before it was first seen, nobody says which devices it had. It held as many as it was given: it is
//! put on devices that no other run had then, and its owner's evidence says so.

use super::devices::Devices;
use super::gres::{gpus_in_tres, items};
use super::job::{Job, Phase};
use crate::allocation::{Allocation, Allocations, OwnerId, Target};
use schema::hostlist;
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long an ended run is kept: longer than any window waits to be closed.
const KEEP_MS: i64 = 3_600_000;

/// Slurm's times are whole seconds, rounded down: an event that it tells as of a second may lie up to its end, and one
/// of the second in which it was asked may not be told yet.
const GRAIN_MS: i64 = 1_000;

/// What a site charges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether a job holds its devices while it is suspended. Slurm gives them to nobody else meanwhile, so both are
    /// sound; by default suspended time isn't the job's.
    pub suspended_holds: bool,
}

/// A run: job id and submit time, Unix seconds.
type Run = (u64, i64);

#[derive(Debug)]
struct Entry {
    owner: Arc<Owner>,
    sluid: Option<String>,
    parts: Vec<(Target, Share)>,
    /// Stretches in which it ran, Unix milliseconds; only the last may be open.
    stretches: Vec<(i64, Option<i64>)>,
    /// The suspension or resumption that the stretches contain.
    seen_suspend_s: Option<i64>,
    last_seen_ms: i64,
    over: bool,
}

/// What was said so far.
#[derive(Debug, Default)]
pub struct Book {
    runs: BTreeMap<Run, Entry>,
    /// Runs on this node with GPUs that Slurm didn't name and for which too few were free.
    pub unplaced: u64,
}

impl Book {
    /// Takes the whole answer to a question that was asked at `asked_ms`, and gives what follows for `node`.
    pub fn take(
        &mut self,
        asked_ms: i64,
        jobs: &[Job],
        node: &str,
        devices: &Devices,
        policy: Policy,
    ) -> Allocations {
        self.take_jobs(asked_ms, jobs, node, devices, policy);
        self.end_missing(asked_ms, jobs);
        self.runs.retain(|_, entry| !entry.over || entry.known_ms() > asked_ms - KEEP_MS);
        self.allocations(asked_ms - GRAIN_MS)
    }

    fn take_jobs(&mut self, asked_ms: i64, jobs: &[Job], node: &str, devices: &Devices, policy: Policy) {
        let mut unplaced = Vec::new();
        for job in jobs {
            let Some(at) = hostlist::position(&job.nodes, node) else { continue };
            unplaced.extend(self.take_job(asked_ms, job, at, devices, policy));
        }
        // Whoever is known to have had a device had it: the others are put beside them.
        unplaced.sort_unstable_by_key(|(run, _)| (self.runs[run].first_start_ms(), *run));
        for (run, gpus) in unplaced {
            if !self.place(run, gpus, devices) {
                self.unplaced += 1;
            }
        }
    }

    /// Puts a run on so many devices that no other run had in its time; false where there aren't that many.
    fn place(&mut self, run: Run, gpus: usize, devices: &Devices) -> bool {
        let of = &self.runs[&run];
        let is_taken = |target: &Target| {
            self.runs.iter().any(|(other, entry)| {
                *other != run && entry.parts.iter().any(|(known, _)| known == target) && entry.overlaps(of)
            })
        };
        let free: Vec<(Target, Share)> =
            devices.all().into_iter().filter(|(target, _)| !is_taken(target)).take(gpus).collect();
        if free.len() < gpus {
            return false;
        }
        let whole_node = gpus == devices.len();
        let entry = self.runs.get_mut(&run).expect("it was just looked at");
        entry.parts = free;
        if !whole_node {
            let evidence = format!("{}; which GPUs it had isn't on record", entry.owner.evidence);
            entry.owner = Arc::new(Owner { evidence, ..Owner::clone(&entry.owner) });
        }
        true
    }

    /// The run and how many GPUs it had here, where it isn't said which.
    fn take_job(
        &mut self,
        asked_ms: i64,
        job: &Job,
        at: usize,
        devices: &Devices,
        policy: Policy,
    ) -> Option<(Run, usize)> {
        let start_s = job.start_s?;
        // A job that waits has an expected start, which isn't one.
        if job.phase == Phase::Waiting {
            return None;
        }
        let run = (job.id, job.submit_s);
        let mut unplaced = None;
        let parts = job.gres_detail.get(at).map(|text| held(text, devices)).unwrap_or_default();
        if !self.runs.contains_key(&run) && job.phase == Phase::Ended && parts.is_empty() {
            // Ended before it was seen.
            match gpus_here(job) {
                Some(0) => return None,
                gpus => unplaced = Some((run, gpus.unwrap_or(usize::MAX))),
            }
        }
        let entry = self.runs.entry(run).or_insert_with(|| Entry {
            owner: job.owner.clone(),
            sluid: job.sluid.clone(),
            parts: Vec::new(),
            stretches: Vec::new(),
            seen_suspend_s: None,
            last_seen_ms: asked_ms,
            over: false,
        });
        entry.last_seen_ms = asked_ms;
        if !parts.is_empty() {
            entry.parts = parts;
        }
        match policy.suspended_holds {
            true => entry.stretches = vec![(start_s * 1000, end_ms(job))],
            false => entry.take_times(start_s, job),
        }
        entry.over = job.phase == Phase::Ended;
        unplaced
    }

    /// Runs that an answer lacks are over: since the successor's submission where the job was requeued, else since the
    /// answer that last had them.
    fn end_missing(&mut self, asked_ms: i64, jobs: &[Job]) {
        for ((id, submit_s), entry) in &mut self.runs {
            if entry.last_seen_ms == asked_ms || entry.over {
                continue;
            }
            let successors = jobs.iter().filter(|job| job.id == *id && job.submit_s > *submit_s);
            let successor = successors.map(|job| job.submit_s * 1000).min();
            entry.close(successor.unwrap_or(entry.last_seen_ms));
            entry.over = true;
        }
    }

    fn allocations(&self, known_until_ms: i64) -> Allocations {
        let mut held = Vec::new();
        let mut owners: BTreeMap<OwnerId, Arc<Owner>> = BTreeMap::new();
        for ((id, _), entry) in &self.runs {
            // Runs are in order of submission: of one id, the latest owns it.
            owners.insert((OwnerKind::Slurm, id.to_string()), entry.owner.clone());
            if let Some(sluid) = &entry.sluid {
                owners.insert((OwnerKind::Slurm, sluid.clone()), entry.owner.clone());
            }
            for (target, share) in &entry.parts {
                held.extend(entry.stretches.iter().map(|(from_ms, to_ms)| Allocation {
                    target: target.clone(),
                    owner: entry.owner.clone(),
                    share: *share,
                    from_ms: *from_ms,
                    to_ms: *to_ms,
                }));
            }
        }
        Allocations { source: "slurm", known_until_ms, held, owners, out_of_use: None }
    }
}

/// How many GPUs a run had on each of its nodes; `None` where they weren't as many on each.
fn gpus_here(job: &Job) -> Option<usize> {
    let Some(total) = gpus_in_tres(&job.tres) else { return Some(0) };
    let nodes = hostlist::expand(&job.nodes)?.len().max(1) as u64;
    (total % nodes == 0).then(|| usize::try_from(total / nodes).ok()).flatten()
}

fn end_ms(job: &Job) -> Option<i64> {
    (job.phase == Phase::Ended).then(|| job.end_s.or(job.start_s).unwrap_or(job.submit_s) * 1000)
}

/// What a node's GRES text gives. A job that asked for shards may show the GPU beneath as well: the shard counts.
fn held(text: &str, devices: &Devices) -> Vec<(Target, Share)> {
    let mut parts: Vec<(Target, Share)> = Vec::new();
    let all = items(text);
    let (whole, shared): (Vec<_>, Vec<_>) = all.iter().partition(|item| item.name == "gpu");
    for item in shared.into_iter().chain(whole) {
        for (target, share) in devices.held(item).unwrap_or_default() {
            if !parts.iter().any(|(known, _)| *known == target) {
                parts.push((target, share));
            }
        }
    }
    parts
}

impl Entry {
    fn last_end_ms(&self) -> i64 {
        self.stretches.last().map_or(0, |(from_ms, to_ms)| to_ms.unwrap_or(*from_ms))
    }

    fn first_start_ms(&self) -> i64 {
        self.stretches.first().map_or(0, |(from_ms, _)| *from_ms)
    }

    /// The last instant that anything was heard of it, or it ended: a run from accounting may be long over.
    fn known_ms(&self) -> i64 {
        self.last_end_ms().max(self.last_seen_ms)
    }

    fn overlaps(&self, other: &Entry) -> bool {
        let until = |to_ms: &Option<i64>| to_ms.unwrap_or(i64::MAX);
        self.stretches.iter().any(|(from_ms, to_ms)| {
            other.stretches.iter().any(|(a_ms, b_ms)| *from_ms < until(b_ms) && *a_ms < until(to_ms))
        })
    }

    fn close(&mut self, at_ms: i64) {
        if let Some((from_ms, to_ms @ None)) = self.stretches.last_mut() {
            *to_ms = Some(at_ms.max(*from_ms));
        }
    }

    fn ran_ms(&self) -> i64 {
        self.stretches.iter().filter_map(|(from_ms, to_ms)| Some((*to_ms)? - from_ms)).sum()
    }

    /// Stretches from start, the last suspension or resumption, how long it had run then, and the end.
    fn take_times(&mut self, start_s: i64, job: &Job) {
        if self.stretches.is_empty() {
            self.stretches.push((start_s * 1000, None));
        }
        if let Some(suspend_s) = job.suspend_s.filter(|at| self.seen_suspend_s != Some(*at)) {
            self.seen_suspend_s = Some(suspend_s);
            self.take_suspension(suspend_s, job);
        }
        if let Some(end_ms) = end_ms(job) {
            self.close(end_ms);
        }
    }

    /// `suspend_s` is when it was last suspended or resumed, and it had run `ran_before_s` up to then.
    fn take_suspension(&mut self, suspend_s: i64, job: &Job) {
        let open_from_ms =
            self.stretches.last().filter(|(_, to_ms)| to_ms.is_none()).map(|(from_ms, _)| *from_ms);
        // The stretch that was open ended when the time that it had run by then was used up.
        if let Some(from_ms) = open_from_ms {
            self.close(from_ms + (job.ran_before_s * 1000 - self.ran_ms()).max(0));
        }
        let stopped_ms = self.last_end_ms();
        let resumed = match job.phase {
            Phase::Running => true,
            Phase::Suspended | Phase::Waiting => false,
            // Ended: where the last event lies where it stopped running, it was that stop; else it was a resumption.
            Phase::Ended => suspend_s * 1000 > stopped_ms,
        };
        if resumed {
            self.stretches.push((suspend_s * 1000, None));
        }
    }
}

#[cfg(test)]
mod tests;
