//! Whose job a process is, beyond what its cgroup says: processes that left their job's cgroup, such as a rootless
//! container started inside a job, and what the environment of those within claims.
//!
//! The law: a job is taken from Slurm's word alone. An environment only picks among the jobs that Slurm says this user
//! runs here, and where it says otherwise than Slurm, Slurm's word stands and the evidence says so.

use super::environ::{Claim, claim};
use super::job;
use crate::allocation::{Allocations, Board};
use crate::owner::{OwnerLookup, OwnerRecord, ProcessOwner, environ};
use schema::owner::{Owner, OwnerKind, key};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// An owner look-up that finds the jobs of processes for which `inner` found no scheduler's owner.
pub struct JobClaims<L> {
    inner: L,
    procfs: PathBuf,
    board: Option<Board>,
    /// Claims by PID and start time: an environment is read once.
    claims: HashMap<u32, (u64, Arc<Claim>)>,
}

impl<L: OwnerLookup> JobClaims<L> {
    /// Over `inner`, reading environments below `procfs` and checking them against what is on `board`; without a board
    /// no environment is read.
    pub fn new(inner: L, procfs: PathBuf, board: Option<Board>) -> Self {
        Self { inner, procfs, board, claims: HashMap::new() }
    }

    /// The look-up beneath.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    fn claimed(&mut self, pid: u32, start_ticks: u64) -> Arc<Claim> {
        if let Some((_, claim)) = self.claims.get(&pid).filter(|(ticks, _)| *ticks == start_ticks) {
            return claim.clone();
        }
        // Where it can't be read there is no claim.
        let claim = Arc::new(environ::read(&self.procfs, pid).map_or_else(Claim::default, |all| claim(&all)));
        self.claims.insert(pid, (start_ticks, claim.clone()));
        claim
    }
}

/// Jobs with devices of this user that run here now, by job id and submission.
fn jobs_of<'a>(said: &'a Allocations, uid: &str) -> Vec<&'a Arc<Owner>> {
    let open = said.held.iter().filter(|held| held.to_ms.is_none() && held.owner.kind == OwnerKind::Slurm);
    let own = open.filter(|held| held.owner.attributes.get(key::UID).is_some_and(|own| own == uid));
    let run = |owner: &Owner| {
        (owner.attributes.get(key::SLURM_JOB).cloned(), owner.attributes.get(job::key::SUBMIT).cloned())
    };
    let runs: BTreeMap<_, &Arc<Owner>> = own.map(|held| (run(&held.owner), &held.owner)).collect();
    runs.into_values().collect()
}

/// The owner of a process outside any job's cgroup: its user's job where there is no doubt which.
fn outside(said: &Allocations, claim: &Claim, process: &Owner) -> Option<Owner> {
    let jobs = jobs_of(said, process.attributes.get(key::UID)?);
    let named = claim.job.and_then(|id| {
        let is_named = |owner: &&&Arc<Owner>| owner.attributes.get(key::SLURM_JOB) == Some(&id.to_string());
        jobs.iter().rfind(is_named).map(|record| (id, *record))
    });
    let read = &process.evidence;
    let (record, why) = match (named, jobs.as_slice()) {
        (Some((id, record)), _) => {
            (record, format!("SLURM_JOB_ID={id}, squeue agrees{}", claim.contradictions(record)))
        }
        // A service that runs as the user isn't of the user's job unless it says so.
        (None, _) if process.kind == OwnerKind::Systemd => return None,
        (None, []) => return None,
        (None, [only]) => (*only, "the one job with GPUs here that its user runs".to_owned()),
        (None, several) => {
            let evidence = format!("{read}; outside job cgroup: its user runs {} jobs here", several.len());
            return Some(Owner { evidence, ..process.clone() });
        }
    };
    let evidence = format!("outside job cgroup: {why}; {read}");
    Some(Owner { evidence, ..Owner::clone(record) })
}

/// The owner of a process within a job's cgroup: the same, with what its environment says otherwise in the evidence.
fn inside(said: &Allocations, claim: &Claim, process: &Owner) -> Option<Owner> {
    let id = process.attributes.get(key::SLURM_JOB)?.clone();
    let said = match said.owners.get(&(OwnerKind::Slurm, id)) {
        Some(record) => claim.contradictions(record),
        None => claim.unchecked(),
    };
    (!said.is_empty()).then(|| Owner { evidence: format!("{}{said}", process.evidence), ..process.clone() })
}

impl<L: OwnerLookup> OwnerLookup for JobClaims<L> {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let mut found = self.inner.lookup(pid);
        let Some(said) = self.board.as_ref().map(Board::current) else { return found };
        if found.start_ticks == 0 {
            return found;
        }
        let owner = match found.owner.owner.kind {
            OwnerKind::User | OwnerKind::Container | OwnerKind::Systemd => {
                outside(&said, &self.claimed(pid, found.start_ticks), &found.owner.owner)
            }
            OwnerKind::Slurm => inside(&said, &self.claimed(pid, found.start_ticks), &found.owner.owner),
            _ => None,
        };
        if let Some(owner) = owner {
            found.owner = OwnerRecord::new(owner);
        }
        found
    }

    fn keep_only(&mut self, pids: &[u32]) {
        self.claims.retain(|pid, _| pids.contains(pid));
        self.inner.keep_only(pids);
    }
}

#[cfg(test)]
mod tests;
