//! What a scheduler says it gave out in the month, on the board where the collector's witnesses of Kubernetes and Slurm put
//! their words. How those come by it over real sockets is what `tests/kubernetes` and `tests/slurm` show.

use collector::allocation::{Allocation, Allocations, DeviceName, Target};
use collector::kubernetes::Witness;
use harness::kubernetes::{cgroup, container_id};
use schema::owner::{Owner, OwnerKind, key};
use schema::share::Share;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One pod or job and what it holds.
#[derive(Clone)]
pub struct Given {
    owner: Owner,
    /// What a cgroup tells of it.
    id: String,
    target: Target,
    share: Share,
    pub from_ms: i64,
    pub to_ms: i64,
}

/// Everything that one scheduler says.
pub struct Scheduler {
    pub source: &'static str,
    pub given: Vec<Given>,
    pub known_until_ms: i64,
}

impl Given {
    fn new(kind: OwnerKind, attributes: &[(&str, &str)], id: String, evidence: String) -> Self {
        let attributes = attributes.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let owner = Owner { kind, attributes, evidence };
        let target = Target::from(DeviceName::Uuid(String::new()));
        Self { owner, id, target, share: Share::WHOLE, from_ms: 0, to_ms: 0 }
    }

    /// A pod with the container `main`.
    pub fn pod(namespace: &str, name: &str) -> Self {
        let uid = format!("{name}-uid");
        let attributes =
            [(key::NAMESPACE, namespace), (key::POD, name), (key::POD_UID, &uid), ("container", "main")];
        let evidence = format!("API server: pod {namespace}/{name}");
        Self::new(OwnerKind::Kubernetes, &attributes, format!("{uid}/{}", container_id(name)), evidence)
    }

    /// A job of an account.
    pub fn job(account: &str, number: &str) -> Self {
        let attributes = [(key::SLURM_JOB, number), (key::SLURM_ACCOUNT, account)];
        Self::new(OwnerKind::Slurm, &attributes, number.into(), format!("squeue: job {number}"))
    }

    pub fn whole(self, device: &str) -> Self {
        self.part(device, 1, 1)
    }

    /// So many of a device's slots.
    pub fn part(self, device: &str, slots: u32, of: u32) -> Self {
        let target = DeviceName::Uuid(device.into()).into();
        Self { target, share: Share::new(slots, of), ..self }
    }

    /// So many of the slots of a MIG instance.
    pub fn instance(self, device: &str, gpu_instance: u32, slots: u32, of: u32) -> Self {
        let mut given = self.part(device, slots, of);
        given.target.gpu_instance = Some(gpu_instance);
        given
    }

    pub fn during(self, from_ms: i64, to_ms: i64) -> Self {
        Self { from_ms, to_ms, ..self }
    }

    pub fn device(&self) -> &str {
        match &self.target.device {
            DeviceName::Uuid(uuid) => uuid,
            other => unreachable!("devices here are given by UUID, not as {other:?}"),
        }
    }

    pub fn gpu_instance(&self) -> Option<u32> {
        self.target.gpu_instance
    }

    /// The line in `/proc/<pid>/cgroup` of its processes.
    pub fn cgroup(&self) -> String {
        match self.id.split_once('/') {
            Some((pod, container)) => cgroup(pod, container),
            None => format!("0::/system.slice/slurmstepd.scope/job_{}/step_0/user/task_0", self.id),
        }
    }
}

impl Scheduler {
    /// A witness that has said all of it.
    pub fn witness(&self) -> Witness {
        let mut held = Vec::new();
        let mut owners = BTreeMap::new();
        for given in &self.given {
            let owner = Arc::new(given.owner.clone());
            owners.insert((owner.kind, given.id.clone()), Arc::clone(&owner));
            held.push(Allocation {
                target: given.target.clone(),
                owner,
                share: given.share,
                from_ms: given.from_ms,
                to_ms: Some(given.to_ms),
            });
        }
        let witness = Witness::default();
        let (source, known_until_ms) = (self.source, self.known_until_ms);
        witness.board.publish(Allocations { source, known_until_ms, held, owners, out_of_use: None });
        witness
    }
}
