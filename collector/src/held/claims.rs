//! Allocations that are of one slice's device, resolved to its places, and owners by the scheduler's full record.

use crate::allocation::{Allocations, DeviceFacts, DeviceName, Target};
use crate::attribution::Place;
use crate::containers::Asked;
use crate::kubernetes::owners::CONTAINER;
use crate::owner::OwnerRecord;
use crate::slice::Closed;
use schema::owner::{Owner, OwnerKind, key};
use schema::share::Share;
use schema::window::Window;
use std::sync::Arc;

/// One owner's hold on one place of the slice's device.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Who.
    pub owner: Arc<OwnerRecord>,
    /// Where.
    pub place: Place,
    /// Share of the place.
    pub share: Share,
    /// The place's own share of the device.
    pub whole: Share,
    /// When, within the slice, and no later than what the scheduler has answered for.
    pub held: Window,
}

/// The claims on a slice's device within its time.
pub fn on(slice: &Closed, said: &[Arc<Allocations>]) -> Vec<Claim> {
    let window = Window::new(slice.window.start_ms, slice.window.end_ms);
    let mut claims = Vec::new();
    for word in said {
        for allocation in &word.held {
            let known_ms = word.known_until_ms.clamp(window.start_ms, window.end_ms);
            let Some(held) = allocation.within(Window::new(window.start_ms, known_ms)) else { continue };
            let owner = OwnerRecord::new(Owner::clone(&allocation.owner));
            claims.extend(places(slice, &allocation.target).into_iter().map(|(place, whole)| Claim {
                owner: owner.clone(),
                place,
                share: allocation.share,
                whole,
                held,
            }));
        }
    }
    claims
}

/// The places of the slice's device that a target names, each with its share of the device.
fn places(slice: &Closed, target: &Target) -> Vec<(Place, Share)> {
    let device = &slice.device;
    let facts = DeviceFacts {
        uuid: &device.uuid,
        index: device.index,
        minor: device.minor,
        pci_bus_id: &device.pci_bus_id,
    };
    let by_uuid = match &target.device {
        DeviceName::MigUuid(uuid) => Some(uuid),
        name if name.is(facts) => None,
        _ => return Vec::new(),
    };
    if !slice.window.mig {
        let whole = by_uuid.is_none() && target.gpu_instance.is_none();
        return if whole { vec![(Place::DEVICE, Share::WHOLE)] } else { Vec::new() };
    }
    let slices = device.mig_slices.unwrap_or(1).max(1);
    let is_named = |instance: &&schema::wire::MigInstance| match by_uuid {
        Some(uuid) => instance.uuid.eq_ignore_ascii_case(uuid),
        None => {
            target.gpu_instance.is_none_or(|gi| gi == instance.gpu_instance)
                && target.compute_instance.is_none_or(|ci| ci == instance.compute_instance)
        }
    };
    let named = slice.window.instances.iter().filter(is_named);
    named
        .map(|i| {
            (Place::instance(i.gpu_instance, i.compute_instance), Share::new(i.slices.min(slices), slices))
        })
        .collect()
}

/// Gives every row's owner the scheduler's record of it: that of a claim in the slice's time where there is one (a
/// requeued job has several records), else the latest.
pub fn name_owners(slice: &mut Closed, said: &[Arc<Allocations>], claims: &[Claim]) {
    let owners = slice.usage.iter_mut().filter_map(|(_, owner, _)| owner.as_mut());
    for owner in owners.chain(slice.host_memory.iter_mut().map(|(_, owner)| owner)) {
        if let Some(known) = known(owner, said, claims) {
            *owner = known;
        }
    }
}

/// The scheduler's record of an owner; `None` where it has none, or it is that already.
pub(super) fn known(
    record: &OwnerRecord,
    said: &[Arc<Allocations>],
    claims: &[Claim],
) -> Option<Arc<OwnerRecord>> {
    if claims.iter().any(|claim| claim.owner.workload == record.workload) {
        return None;
    }
    let ids = ids(&record.owner);
    let found = |id: &String| said.iter().find_map(|word| word.owners.get(&(record.owner.kind, id.clone())));
    let latest = ids.iter().find_map(found).map(|owner| &**owner);
    let mut same_kind =
        claims.iter().map(|claim| &claim.owner.owner).filter(|known| known.kind == record.owner.kind);
    let by_claim = match record.owner.kind {
        OwnerKind::Kubernetes => latest.and_then(|latest| of_container(same_kind, latest)),
        _ => same_kind.find(|known| ids.iter().any(|id| self::ids(known).contains(id))),
    };
    let known = by_claim.or(latest)?;
    let evidence = match (record.owner.evidence.as_str(), known.evidence.as_str()) {
        ("", said) | (said, "") => said.to_owned(),
        (read, said) => format!("{read}; {said}"),
    };
    Some(OwnerRecord::new(Owner { evidence, ..known.clone() }))
}

/// The claim of this container of a pod; else the pod's own, which is given to no container in particular. A claim of
/// another container of the pod isn't this one's.
fn of_container<'a>(claims: impl Iterator<Item = &'a Owner>, known: &Owner) -> Option<&'a Owner> {
    let of_pod: Vec<&Owner> = claims
        .filter(|claim| claim.attributes.get(key::POD_UID) == known.attributes.get(key::POD_UID))
        .collect();
    let container = |owner: &Owner| owner.attributes.get(CONTAINER).cloned();
    let same = of_pod.iter().find(|claim| container(claim) == container(known));
    same.or_else(|| of_pod.iter().find(|claim| container(claim).is_none())).copied()
}

/// What a scheduler calls this owner, the most precise first.
fn ids(owner: &Owner) -> Vec<String> {
    let of = |name: &str| owner.attributes.get(name).cloned();
    match owner.kind {
        OwnerKind::Slurm => of(key::SLURM_JOB).into_iter().collect(),
        OwnerKind::Kubernetes => {
            let pod = of(key::POD_UID);
            let container = pod.clone().zip(of(key::CONTAINER_ID)).map(|(pod, id)| format!("{pod}/{id}"));
            container.into_iter().chain(pod).collect()
        }
        OwnerKind::Container => Asked::of(owner).map(|asked| asked.owner_id()).into_iter().collect(),
        // libvirt writes UUIDs in lower case; a machine that is known by name has it as it is.
        OwnerKind::Vm => of(key::VM_ID).into_iter().flat_map(|id| [id.to_ascii_lowercase(), id]).collect(),
        _ => Vec::new(),
    }
}
