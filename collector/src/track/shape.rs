//! How a device's time and slices are cut: windows' boundaries and MIG instances.

use crate::attribution::Shape;
use crate::reading::{Identity, Instance};
use schema::wire::MigInstance;

/// The instants strictly inside `(from, to)` at which a window ends.
pub(super) fn boundaries(from_ms: i64, to_ms: i64, window_ms: i64) -> Vec<i64> {
    let first = (from_ms.div_euclid(window_ms) + 1) * window_ms;
    let step = usize::try_from(window_ms).expect("a window is a positive number of milliseconds");
    (first..to_ms).step_by(step).collect()
}

/// How the device is cut, from its identity and its instances at this instant.
pub(super) fn shape(identity: &Identity, mig: Option<&[Instance]>) -> Shape {
    let instance = |i: &Instance| {
        let wire = MigInstance {
            gpu_instance: i.gpu_instance,
            compute_instance: i.compute_instance,
            uuid: i.uuid.clone(),
            profile: i.profile.clone(),
            slices: i.slices,
        };
        (wire, i.gpu_instance_slices)
    };
    Shape {
        slices: if mig.is_some() { identity.mig_slices.unwrap_or(7) } else { 1 },
        instances: mig.map(|all| all.iter().map(instance).collect()),
        measures_instances: identity.gpm,
    }
}
