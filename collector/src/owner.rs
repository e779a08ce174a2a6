//! Whose a process is: the seam between a PID and an owner record.

mod cgroup;
pub(crate) mod environ;
mod identity;
mod passwd;
mod person;
mod place;
mod procfs;
mod subuid;

pub use cgroup::{Layer, layers};
pub use place::WrongPlace;
pub use procfs::Procfs;

use crate::attribution::MpsClient;
use schema::id::WorkloadId;
use schema::owner::{Owner, OwnerKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attributes of processes on plain hosts, besides those that every stage knows.
pub mod attribute {
    /// Name of a container, as its runtime has it.
    pub const CONTAINER_NAME: &str = "container_name";
    /// Id of the container that a pod's node is itself a container of.
    pub const OUTER_CONTAINER: &str = "outer_container_id";
    /// Unit of a user's own service manager: the user names it.
    pub const USER_UNIT: &str = "user_unit";
    /// Project of a machine of OpenStack's.
    pub const OPENSTACK_PROJECT: &str = "openstack_project";
    /// Its id, which stays when it is renamed.
    pub const OPENSTACK_PROJECT_ID: &str = "openstack_project_id";
    /// Name of a virtual machine.
    pub const VM: &str = "vm";
}

/// An owner with its identity worked out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRecord {
    /// The record as it travels.
    pub owner: Owner,
    /// Its identity.
    pub workload: WorkloadId,
}

impl OwnerRecord {
    /// A record with its identity.
    pub fn new(owner: Owner) -> Arc<Self> {
        let workload = owner.workload();
        Arc::new(Self { owner, workload })
    }

    /// The owner of processes that nothing can be read of. They are one workload, so that it stays bounded.
    pub fn unknown(evidence: String) -> Arc<Self> {
        Self::new(Owner { kind: OwnerKind::Unknown, attributes: BTreeMap::new(), evidence })
    }
}

/// What is known of a process.
#[derive(Debug, Clone)]
pub struct ProcessOwner {
    /// Whose it is.
    pub owner: Arc<OwnerRecord>,
    /// Kernel's start time, with the PID the identity of the process; 0 where unknown.
    pub start_ticks: u64,
    /// When it started, Unix milliseconds.
    pub started_ms: Option<i64>,
    /// Whether it is the MPS server, whose memory and time are its clients'.
    pub mps_server: bool,
}

/// Finds owners. An implementation keeps what it found and never fails: an owner that can't be found is `Unknown`.
pub trait OwnerLookup: Send {
    /// The owner of a host PID as of now.
    fn lookup(&mut self, pid: u32) -> ProcessOwner;
    /// Forgets processes that aren't in this list.
    fn keep_only(&mut self, pids: &[u32]);
    /// What is known of a process as a client of an MPS server besides what the driver lists; `None` where nothing is.
    fn mps_client(&mut self, _pid: u32, _start_ticks: u64) -> Option<MpsClient> {
        None
    }
    /// Clients of this MPS server on this device that a control daemon knows; the driver may list the server alone.
    fn mps_clients_of(&self, _server_pid: u32, _device_uuid: &str) -> Vec<u32> {
        Vec::new()
    }
}
