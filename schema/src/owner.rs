//! Who a process belongs to, as the node saw it: raw identity, never a tenant. Tenants are resolved centrally.

use crate::id::WorkloadId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub use crate::wire::OwnerKind;

/// Attribute keys that the stages agree on. Anything else an owner carries is kept and shown, not interpreted.
pub mod key {
    /// Kubernetes namespace.
    pub const NAMESPACE: &str = "namespace";
    /// Kubernetes pod UID.
    pub const POD_UID: &str = "pod_uid";
    /// Kubernetes pod name.
    pub const POD: &str = "pod";
    /// Container id (Kubernetes, Docker, Podman).
    pub const CONTAINER_ID: &str = "container_id";
    /// Slurm job id.
    pub const SLURM_JOB: &str = "slurm_job";
    /// Slurm account.
    pub const SLURM_ACCOUNT: &str = "slurm_account";
    /// systemd unit.
    pub const UNIT: &str = "unit";
    /// Numeric user id.
    pub const UID: &str = "uid";
    /// User name, where the node can resolve the uid.
    pub const USER: &str = "user";
    /// Virtual machine id of a vGPU.
    pub const VM_ID: &str = "vm_id";
    /// Image that a container was started from, as its runtime names it.
    pub const IMAGE: &str = "image";
    /// Before the key of a pod's or a container's label: `label:team`.
    pub const LABEL: &str = "label:";
    /// Before the key of a label of the pod's namespace: `namespace_label:cost-centre`.
    pub const NAMESPACE_LABEL: &str = "namespace_label:";
}

/// An owner: what kind of thing was started, its identifying attributes, and what was read to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// What started it.
    pub kind: OwnerKind,
    /// Identifying attributes, by the keys of [`key`].
    pub attributes: BTreeMap<String, String>,
    /// What was read: a cgroup line, a uid. Shown to whoever disputes a line; not part of the identity.
    pub evidence: String,
}

impl Owner {
    /// The workload's identity: SHA-256 over kind and attributes in key order, length-prefixed, first 128 bits.
    /// Evidence isn't part of it, so a job seen through two processes is one workload.
    pub fn workload(&self) -> WorkloadId {
        let mut hash = Sha256::new();
        hash.update((self.kind as i32).to_be_bytes());
        for (key, value) in &self.attributes {
            for text in [key, value] {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text.as_bytes());
            }
        }
        let digest = hash.finalize();
        let mut first = [0u8; 16];
        first.copy_from_slice(&digest[..16]);
        WorkloadId(u128::from_be_bytes(first))
    }

    /// As it travels.
    pub fn to_wire(&self) -> crate::wire::Owner {
        crate::wire::Owner {
            workload: self.workload().to_bytes(),
            kind: self.kind as i32,
            attributes: self
                .attributes
                .iter()
                .map(|(key, value)| crate::wire::Attribute { key: key.clone(), value: value.clone() })
                .collect(),
            evidence: self.evidence.clone(),
        }
    }

    /// From the wire; an owner kind newer than this build reads as `Unspecified` and keeps its attributes.
    pub fn from_wire(wire: &crate::wire::Owner) -> Self {
        Self {
            kind: wire.kind(),
            attributes: wire.attributes.iter().map(|a| (a.key.clone(), a.value.clone())).collect(),
            evidence: wire.evidence.clone(),
        }
    }
}
