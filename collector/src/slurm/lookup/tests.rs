//! Processes inside and outside of jobs' cgroups, while Slurm says who runs what here.

use super::*;
use crate::allocation::{Allocation, DeviceName};
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
    let attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Owner { kind, attributes, evidence: "0::/user.slice".into() }
}

fn job(id: &str, account: &str, uid: &str) -> Owner {
    owner(OwnerKind::Slurm, &[("slurm_job", id), ("slurm_account", account), ("uid", uid)])
}

/// Slurm's word: these jobs hold a device each, up to the given instants.
fn word(jobs: &[(Owner, Option<i64>)]) -> Board {
    let mut said = Allocations::default();
    for (minor, (job, to_ms)) in (0..).zip(jobs) {
        let job = Arc::new(job.clone());
        said.owners.insert((OwnerKind::Slurm, job.attributes["slurm_job"].clone()), job.clone());
        said.held.push(Allocation {
            target: DeviceName::Minor(minor).into(),
            owner: job,
            share: Share::WHOLE,
            from_ms: 0,
            to_ms: *to_ms,
        });
    }
    let board = Board::default();
    board.publish(said);
    board
}

/// What a process with this environment and owner is taken to be, by that word.
fn taken(environ: &str, process: &Owner, jobs: &[(Owner, Option<i64>)]) -> Owner {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::create_dir(folder.path().join("7")).expect("folder");
    std::fs::write(folder.path().join("7/environ"), environ).expect("file");
    let mut lookup = JobClaims::new(Fixed(process.clone()), folder.path().to_owned(), Some(word(jobs)));
    lookup.lookup(7).owner.owner.clone()
}

fn account(environ: &str, process: &Owner, jobs: &[(Owner, Option<i64>)]) -> Option<String> {
    taken(environ, process, jobs).attributes.get("slurm_account").cloned()
}

fn ada() -> Owner {
    owner(OwnerKind::User, &[("uid", "1000")])
}

#[test]
fn a_claim_counts_only_where_the_scheduler_agrees() {
    let two = [(job("211", "vision", "1000"), None), (job("212", "speech", "1000"), None)];
    let mallory = owner(OwnerKind::User, &[("uid", "1001")]);
    let pod = owner(OwnerKind::Kubernetes, &[("pod_uid", "p"), ("uid", "1000")]);
    let service = owner(OwnerKind::Systemd, &[("unit", "a.service"), ("uid", "1000")]);
    let claims = "A=1\0SLURM_JOB_ID=211\0";
    assert_eq!(account(claims, &ada(), &two).as_deref(), Some("vision"));
    assert_eq!(account("SLURM_JOB_ID=212\0", &ada(), &two).as_deref(), Some("speech"));
    assert_eq!(account(claims, &service, &two).as_deref(), Some("vision"));
    assert_eq!(account(claims, &mallory, &two), None, "another user's job");
    assert_eq!(account("SLURM_JOB_ID=213\0", &ada(), &two), None, "a job that Slurm doesn't know here");
    assert_eq!(account(claims, &pod, &two), None, "a scheduler's own owner is never overridden");
    let over = [(job("211", "vision", "1000"), Some(10))];
    assert_eq!(account(claims, &ada(), &over), None, "a job that is over");
}

#[test]
fn a_container_that_left_its_job_is_the_one_jobs_of_its_user_else_the_users() {
    let container = owner(OwnerKind::Container, &[("container_id", "c"), ("uid", "1000")]);
    let one = [(job("211", "vision", "1000"), None), (job("300", "speech", "1001"), None)];
    let read = taken("", &container, &one);
    assert_eq!(read.attributes["slurm_job"], "211");
    assert_eq!(
        read.evidence,
        "outside job cgroup: the one job with GPUs here that its user runs; 0::/user.slice"
    );
    assert_eq!(account("SLURM_JOB_ID=300\0", &container, &one).as_deref(), Some("vision"), "a forged id");

    let two = [(job("211", "vision", "1000"), None), (job("212", "speech", "1000"), None)];
    let read = taken("", &container, &two);
    assert_eq!((read.kind, &read.attributes), (OwnerKind::Container, &container.attributes));
    assert_eq!(read.evidence, "0::/user.slice; outside job cgroup: its user runs 2 jobs here");

    let of_root = owner(OwnerKind::Container, &[("container_id", "c")]);
    assert_eq!(taken("SLURM_JOB_ID=211\0", &of_root, &one), of_root, "root's container is nobody's job");
    let service = owner(OwnerKind::Systemd, &[("unit", "a.service"), ("uid", "1000")]);
    assert_eq!(taken("", &service, &one), service, "a service isn't its user's job");
    assert_eq!(taken("", &ada(), &[]), ada());
}

#[test]
fn a_job_with_several_devices_is_one_job() {
    let twice = [(job("211", "vision", "1000"), None), (job("211", "vision", "1000"), None)];
    assert_eq!(account("", &ada(), &twice).as_deref(), Some("vision"));
}

#[test]
fn a_forged_environment_within_a_job_changes_nothing_but_the_evidence() {
    let process = owner(OwnerKind::Slurm, &[("slurm_job", "211"), ("uid", "1000")]);
    let jobs = [(job("211", "vision", "1000"), None)];
    let forged = taken("SLURM_JOB_ID=300\0SLURM_JOB_ACCOUNT=physics\0", &process, &jobs);
    assert_eq!(forged.workload(), process.workload());
    assert_eq!(
        forged.evidence,
        "0::/user.slice; its environment says slurm_account=\"physics\", Slurm \"vision\""
    );
    assert_eq!(taken("SLURM_JOB_ACCOUNT=vision\0", &process, &jobs), process);
    let silent = taken("SLURM_JOB_ACCOUNT=vision\0", &process, &[]);
    assert_eq!(silent.attributes, process.attributes, "unchecked, it is shown and not taken");
    assert!(silent.evidence.ends_with("; unchecked environment: slurm_account=\"vision\""));
}
