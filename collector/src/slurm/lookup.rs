//! Processes that left their job's cgroup, such as a rootless container started inside a job. Their environment claims a
//! job; the claim counts where Slurm says that this job runs here for the same user, and only then.

use super::environ::claim;
use crate::allocation::Board;
use crate::owner::{OwnerLookup, OwnerRecord, ProcessOwner};
use schema::owner::{Owner, OwnerKind, key};
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

/// What of an environment is read; a job's own variables stand at its beginning or not far behind.
const ENVIRON_BYTES_MAX: u64 = 1 << 20;

/// An owner look-up that checks claims of the processes for which `inner` found no scheduler's owner.
pub struct JobClaims<L> {
    inner: L,
    procfs: PathBuf,
    board: Option<Board>,
    /// Claimed job by PID and start time: an environment is read once.
    claims: HashMap<u32, (u64, Option<u64>)>,
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

    fn claimed(&mut self, pid: u32, start_ticks: u64) -> Option<u64> {
        if let Some((_, job)) = self.claims.get(&pid).filter(|(ticks, _)| *ticks == start_ticks) {
            return *job;
        }
        let mut environ = Vec::new();
        let file = std::fs::File::open(self.procfs.join(format!("{pid}/environ")));
        // It needs root or CAP_SYS_PTRACE: without it there is no claim, and the process stays its user's.
        let read = file.and_then(|file| file.take(ENVIRON_BYTES_MAX).read_to_end(&mut environ));
        let job = read.ok().and_then(|_| claim(&environ).job);
        self.claims.insert(pid, (start_ticks, job));
        job
    }

    /// The job's record, if this user's job with that id runs here now.
    fn checked(&self, job: u64, process: &Owner) -> Option<Arc<OwnerRecord>> {
        let said = self.board.as_ref()?.current();
        let record = said.owners.get(&(OwnerKind::Slurm, job.to_string()))?;
        let runs = said.held.iter().any(|held| held.to_ms.is_none() && held.owner == *record);
        let same_user =
            record.attributes.get(key::UID).is_some_and(|uid| process.attributes.get(key::UID) == Some(uid));
        (runs && same_user).then(|| {
            let evidence =
                format!("outside the job's cgroup; SLURM_JOB_ID={job}, squeue agrees; {}", process.evidence);
            OwnerRecord::new(Owner { evidence, ..Owner::clone(record) })
        })
    }
}

impl<L: OwnerLookup> OwnerLookup for JobClaims<L> {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let mut found = self.inner.lookup(pid);
        let kind = found.owner.owner.kind;
        if self.board.is_some()
            && matches!(kind, OwnerKind::User | OwnerKind::Container | OwnerKind::Systemd)
            && found.start_ticks != 0
            && let Some(job) = self.claimed(pid, found.start_ticks)
            && let Some(owner) = self.checked(job, &found.owner.owner)
        {
            found.owner = owner;
        }
        found
    }

    fn keep_only(&mut self, pids: &[u32]) {
        self.claims.retain(|pid, _| pids.contains(pid));
        self.inner.keep_only(pids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::{Allocation, Allocations, DeviceName};
    use schema::share::Share;

    struct Fixed(Owner);
    impl OwnerLookup for Fixed {
        fn lookup(&mut self, _: u32) -> ProcessOwner {
            let owner = OwnerRecord::new(self.0.clone());
            ProcessOwner { owner, start_ticks: 5, started_ms: None, mps_server: false }
        }
        fn keep_only(&mut self, _: &[u32]) {}
    }

    fn owner(kind: OwnerKind, attributes: &[(&str, &str)]) -> Owner {
        let attributes =
            attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Owner { kind, attributes, evidence: "0::/user.slice".into() }
    }

    /// The account that a process with this environment and owner is taken to be of, while job 211 of uid 1000 runs.
    fn account(environ: &str, process: Owner, to_ms: Option<i64>) -> Option<String> {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir(folder.path().join("7")).expect("folder");
        std::fs::write(folder.path().join("7/environ"), environ).expect("file");
        let job = Arc::new(owner(
            OwnerKind::Slurm,
            &[("slurm_job", "211"), ("slurm_account", "vision"), ("uid", "1000")],
        ));
        let board = Board::default();
        board.publish(Allocations {
            owners: [((OwnerKind::Slurm, "211".to_owned()), job.clone())].into(),
            held: vec![Allocation {
                target: DeviceName::Minor(0).into(),
                owner: job,
                share: Share::WHOLE,
                from_ms: 0,
                to_ms,
            }],
            ..Allocations::default()
        });
        let mut lookup = JobClaims::new(Fixed(process), folder.path().to_owned(), Some(board));
        lookup.lookup(7).owner.owner.attributes.get("slurm_account").cloned()
    }

    #[test]
    fn a_claim_counts_only_where_the_scheduler_agrees() {
        let ada = || owner(OwnerKind::User, &[("uid", "1000")]);
        let mallory = || owner(OwnerKind::User, &[("uid", "1001")]);
        let pod = owner(OwnerKind::Kubernetes, &[("pod_uid", "p"), ("uid", "1000")]);
        let claims = "A=1\0SLURM_JOB_ID=211\0";
        assert_eq!(account(claims, ada(), None).as_deref(), Some("vision"));
        assert_eq!(account(claims, mallory(), None), None, "another user's job");
        assert_eq!(account(claims, ada(), Some(10)), None, "a job that is over");
        assert_eq!(account("SLURM_JOB_ID=212\0", ada(), None), None, "a job that Slurm doesn't know here");
        assert_eq!(account("", ada(), None), None);
        assert_eq!(account(claims, pod, None), None, "a scheduler's own owner is never overridden");
    }
}
