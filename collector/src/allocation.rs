//! What schedulers say they gave to whom: plain data, the seam between a scheduler's witness and attribution.
//!
//! A witness (Slurm's, the kubelet's) runs in a thread of its own, asks its scheduler, and publishes a whole new
//! [`Allocations`] on its [`Board`]. Whoever closes windows takes the current one from every board and never waits.
//! It uses two things: `held`, which part of which device was given to whom from when to when, process or none; and
//! `owners`, the full record of an owner of which a process's cgroup tells only the id. The law: what is published is
//! what the scheduler said, no end is made up, and `known_until_ms` says how far its word reaches.

use crate::latest::Latest;
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;
use schema::window::Window;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A device in the words a scheduler has for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceName {
    /// NVML UUID of a whole device, `GPU-...`.
    Uuid(String),
    /// NVML UUID of a MIG instance, `MIG-...`: it names device and instance at once.
    MigUuid(String),
    /// The N of `/dev/nvidiaN`.
    Minor(u32),
    /// NVML index, true only while the driver stays loaded.
    Index(u32),
    /// PCI bus id with a domain of any width, `0000:83:00.0`.
    PciBusId(String),
}

/// What is known of a device, to find it by any of its names.
#[derive(Debug, Clone, Copy)]
pub struct DeviceFacts<'a> {
    /// `GPU-...`.
    pub uuid: &'a str,
    /// NVML index.
    pub index: u32,
    /// The N of `/dev/nvidiaN`.
    pub minor: Option<u32>,
    /// PCI bus id as NVML writes it, `00000000:83:00.0`.
    pub pci_bus_id: &'a str,
}

impl DeviceName {
    /// Whether this names the device; a MIG UUID never does, because it names an instance.
    pub fn is(&self, device: DeviceFacts<'_>) -> bool {
        match self {
            DeviceName::Uuid(uuid) => uuid.eq_ignore_ascii_case(device.uuid),
            DeviceName::MigUuid(_) => false,
            DeviceName::Minor(minor) => device.minor == Some(*minor),
            DeviceName::Index(index) => device.index == *index,
            DeviceName::PciBusId(id) => same_pci(id, device.pci_bus_id),
        }
    }
}

/// Bus ids are the same whether their domain is written with four digits or eight, in whichever case.
fn same_pci(a: &str, b: &str) -> bool {
    let plain = |id: &str| id.trim_start_matches('0').to_ascii_lowercase();
    plain(a) == plain(b)
}

/// A device or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Which device, or which MIG instance.
    pub device: DeviceName,
    /// GPU instance id, where the scheduler names one (`nvidia0/gi3`).
    pub gpu_instance: Option<u32>,
    /// Compute instance id, where the scheduler names one; without it, every compute instance of the GPU instance.
    pub compute_instance: Option<u32>,
}

impl From<DeviceName> for Target {
    fn from(device: DeviceName) -> Self {
        Self { device, gpu_instance: None, compute_instance: None }
    }
}

/// One owner's hold on one target, whether or not a process of the owner's is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// What was given.
    pub target: Target,
    /// To whom, with every attribute the scheduler knows; the same record as in [`Allocations::owners`].
    pub owner: Arc<Owner>,
    /// How much of the target: 1 unless the scheduler gives out slots or parts. A whole device that is under MIG is
    /// given as all its instances.
    pub share: Share,
    /// From this instant, Unix milliseconds.
    pub from_ms: i64,
    /// Up to this instant, Unix milliseconds, not included; `None` while it is held.
    pub to_ms: Option<i64>,
}

impl Allocation {
    /// The time of `window` in which it was held; an allocation without an end reaches to the window's end.
    pub fn within(&self, window: Window) -> Option<Window> {
        let to_ms = self.to_ms.unwrap_or(i64::MAX);
        (self.from_ms < to_ms).then(|| window.intersect(&Window::new(self.from_ms, to_ms))).flatten()
    }
}

/// An owner by what a process's cgroup tells of it: the kind, and the scheduler's own id. For Slurm the job id or
/// SLUID; for Kubernetes `<pod uid>`, or `<pod uid>/<container id>` where containers are told apart.
pub type OwnerId = (OwnerKind, String);

/// All that one scheduler says of this node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Who says it, in one word: `slurm`, `kubelet`. Shown as evidence and as a metric's label.
    pub source: &'static str,
    /// Nothing before this instant is still unknown to the scheduler, Unix milliseconds: when it last answered. An
    /// allocation without an end is known to hold up to here. 0 where it never answered.
    pub known_until_ms: i64,
    /// Holds that are open, or ended recently enough that a window of their time may still be open.
    pub held: Vec<Allocation>,
    /// The full record of every owner the scheduler knows on this node.
    pub owners: BTreeMap<OwnerId, Arc<Owner>>,
    /// The node as a whole, where the scheduler has taken it out of use and since when.
    pub out_of_use: Option<OutOfUse>,
}

/// Why a scheduler doesn't give out a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyOutOfUse {
    /// Down or not responding.
    Failed,
    /// Drained, in maintenance or cordoned, by an operator.
    Maintenance,
    /// Rebooting or being powered.
    Reconfiguring,
}

/// The node is out of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfUse {
    /// Why.
    pub why: WhyOutOfUse,
    /// Since when, Unix milliseconds, where the scheduler says.
    pub since_ms: Option<i64>,
    /// The scheduler's own words.
    pub reason: String,
}

/// Where a witness leaves its latest word; clones share it. Empty with `known_until_ms` 0 before the first.
pub type Board = Latest<Allocations>;

#[cfg(test)]
mod tests {
    use super::*;
    use schema::owner::key;

    const DEVICE: DeviceFacts<'_> =
        DeviceFacts { uuid: "GPU-8f0a", index: 6, minor: Some(0), pci_bus_id: "00000000:0A:00.0" };

    #[test]
    fn a_device_is_found_by_any_of_its_names_and_minor_is_not_index() {
        assert!(DeviceName::Uuid("GPU-8F0A".into()).is(DEVICE));
        assert!(DeviceName::Minor(0).is(DEVICE));
        assert!(!DeviceName::Index(0).is(DEVICE));
        assert!(DeviceName::Index(6).is(DEVICE));
        assert!(DeviceName::PciBusId("0000:0a:00.0".into()).is(DEVICE));
        assert!(!DeviceName::PciBusId("0000:0b:00.0".into()).is(DEVICE));
        assert!(!DeviceName::MigUuid("MIG-8f0a".into()).is(DEVICE));
    }

    fn allocation(from_ms: i64, to_ms: Option<i64>) -> Allocation {
        let attributes = [(key::SLURM_JOB.to_owned(), "7".to_owned())].into();
        let owner = Owner { kind: OwnerKind::Slurm, attributes, evidence: String::new() };
        Allocation {
            target: DeviceName::Minor(0).into(),
            owner: Arc::new(owner),
            share: Share::WHOLE,
            from_ms,
            to_ms,
        }
    }

    #[test]
    fn a_hold_is_half_open_and_an_open_one_reaches_to_the_end_of_the_window() {
        let window = Window::new(100, 200);
        assert_eq!(allocation(150, None).within(window), Some(Window::new(150, 200)));
        assert_eq!(allocation(50, Some(150)).within(window), Some(Window::new(100, 150)));
        assert_eq!(allocation(200, None).within(window), None);
        assert_eq!(allocation(50, Some(100)).within(window), None);
        assert_eq!(
            allocation(150, Some(150)).within(window),
            None,
            "a job that ended as it began held nothing"
        );
    }
}
