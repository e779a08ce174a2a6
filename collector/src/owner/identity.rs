//! Which layer of a chain is the workload, and the attributes that it has by that.
//!
//! A pod goes before a job, a job before a container, a container before a machine, a user, a unit. Of pods and jobs the
//! innermost counts; of containers the outermost, because only that one is known to the host's runtime, and what is
//! started inside a container is the container's.

use super::attribute;
use super::cgroup::Layer;
use schema::owner::{OwnerKind, key};
use std::collections::BTreeMap;

/// Kind and attributes of what a chain names; `Unspecified` where it names nothing.
pub(super) fn identity(chain: &[Layer]) -> (OwnerKind, BTreeMap<String, String>) {
    let mut attributes: Vec<(&str, &String)> = Vec::new();
    let kind = if let Some(Layer::Pod { uid, container }) = innermost(chain, is_pod) {
        attributes.push((key::POD_UID, uid));
        attributes.extend(container.iter().map(|id| (key::CONTAINER_ID, id)));
        // A cluster in a container (kind): where nobody knows the pod, the host's runtime may know the container.
        if let Some(Layer::Container { id }) = chain.iter().find(|layer| is_container(layer)) {
            attributes.push((attribute::OUTER_CONTAINER, id));
        }
        OwnerKind::Kubernetes
    } else if let Some(Layer::Slurm { job, .. }) = innermost(chain, |l| matches!(l, Layer::Slurm { .. })) {
        attributes.push((key::SLURM_JOB, job));
        OwnerKind::Slurm
    } else if let Some(at) = chain.iter().position(is_container) {
        match &chain[at] {
            Layer::Container { id } => attributes.push((key::CONTAINER_ID, id)),
            Layer::Lxc { name } => attributes.push((attribute::CONTAINER_NAME, name)),
            _ => {}
        }
        attributes.extend(unit(&chain[..at]));
        OwnerKind::Container
    } else if let Some(Layer::Machine { name }) = innermost(chain, |l| matches!(l, Layer::Machine { .. })) {
        attributes.push((key::VM_ID, name));
        OwnerKind::Vm
    } else {
        attributes.extend(unit(chain));
        match attributes.first() {
            Some((key::UNIT, _)) => OwnerKind::Systemd,
            _ if chain.iter().any(|layer| matches!(layer, Layer::User { .. })) => OwnerKind::User,
            _ => OwnerKind::Unspecified,
        }
    };
    (kind, attributes.into_iter().map(|(key, value)| (key.to_owned(), value.clone())).collect())
}

fn innermost(chain: &[Layer], is_wanted: impl Fn(&Layer) -> bool) -> Option<&Layer> {
    chain.iter().rev().find(|layer| is_wanted(layer))
}

fn is_pod(layer: &Layer) -> bool {
    matches!(layer, Layer::Pod { .. })
}

fn is_container(layer: &Layer) -> bool {
    matches!(layer, Layer::Container { .. } | Layer::Lxc { .. })
}

/// The innermost unit. A user names the units of its own manager as it likes, so they have a key of their own; those that
/// the manager numbers itself (`run-u12.service`) would be a workload each.
fn unit(chain: &[Layer]) -> Option<(&'static str, &String)> {
    let at = chain.iter().rposition(|layer| matches!(layer, Layer::Unit { .. }))?;
    let Layer::Unit { name } = &chain[at] else { return None };
    let of_user = chain[..at].iter().any(|layer| matches!(layer, Layer::User { .. }));
    match of_user {
        true => (!name.starts_with("run-")).then_some((attribute::USER_UNIT, name)),
        false => Some((key::UNIT, name)),
    }
}
