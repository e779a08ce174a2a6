//! GPUs cut by MIG: instances of several sizes, cut anew while pods come and go, and an instance in slots.

use crate::accuracy::case::{Busy, Case, Given, HOUR_S, Hold, PARTS, wave};
use nvidia_ml::scenario::{Gpu, GpuInstance, MigLayout, Seconds};

/// Three pods on instances of three, two and one slices; one slice is left.
pub fn mixed(name: &'static str, title: &'static str, preset: &str, profiles: [&str; 3]) -> Case {
    let instances = profiles.iter().zip([2, 3, 9]).map(|(profile, gi)| GpuInstance::new(gi, profile));
    let mut case = Case::new(name, title, vec![Gpu::new(preset).with_mig(instances.collect())]);
    // Before Hopper, NVML tells no instance's use.
    case.busy = if preset.starts_with('a') { Busy::Unknown } else { Busy::Measured };
    let [large, medium, small] = profiles;
    case.pod("train", (0, None), 0, vec![case.mig(0, 2, large, (0, HOUR_S))]);
    case.pod("tune", (127, Some(2_345)), 0, vec![case.mig(0, 3, medium, (127, 2_345))]);
    case.pod("serve", (0, None), 0, vec![case.mig(0, 9, small, (0, HOUR_S))]);
    case.work("train", 0, Some(2), (0, None), 61.7);
    case.work("tune", 0, Some(3), (131, Some(2_344)), wave(300, 100, 90.0));
    case.work("serve", 0, Some(9), (0, None), 15.5);
    case
}

/// Cut anew in the middle of the hour: pods before, a minute in which nothing can be given, pods after.
pub fn reconfigured() -> Case {
    let mut gpu = Gpu::new("h100");
    let layout = |from: i64, to: Option<i64>, instances: Vec<GpuInstance>| MigLayout {
        from: Seconds::new(from),
        to: to.map(Seconds::new),
        instances,
    };
    gpu.mig = vec![
        layout(0, Some(1_800), vec![GpuInstance::new(2, "3g.40gb"), GpuInstance::new(3, "2g.20gb")]),
        layout(1_800, Some(1_860), Vec::new()),
        layout(1_860, None, vec![GpuInstance::new(1, "4g.40gb"), GpuInstance::new(5, "2g.20gb")]),
    ];
    let mut case = Case::new("mig_reconfigured", "MIG, cut anew mid-hour", vec![gpu]);
    case.pod("early-large", (0, Some(1_787)), 0, vec![case.mig(0, 2, "3g.40gb", (0, 1_787))]);
    case.pod("early-small", (0, Some(1_741)), 0, vec![case.mig(0, 3, "2g.20gb", (0, 1_741))]);
    case.pod("late-large", (1_877, None), 0, vec![case.mig(0, 1, "4g.40gb", (1_877, HOUR_S))]);
    case.pod("late-small", (2_233, Some(3_331)), 0, vec![case.mig(0, 5, "2g.20gb", (2_233, 3_331))]);
    case.work("early-large", 0, Some(2), (0, Some(1_786)), 72.0);
    case.work("early-small", 0, Some(3), (0, Some(1_740)), wave(200, 77, 80.0));
    case.work("late-large", 0, Some(1), (1_881, None), wave(150, 99, 92.0));
    case.work("late-small", 0, Some(5), (2_237, Some(3_330)), 33.0);
    case
}

/// Two pods in the two slots of one instance, and one alone on another.
pub fn time_sliced() -> Case {
    let instances = vec![GpuInstance::new(2, "3g.40gb"), GpuInstance::new(9, "1g.10gb")];
    let mut case =
        Case::new("mig_time_sliced", "MIG + time-slicing", vec![Gpu::new("h100").with_mig(instances)]);
    case.busy = Busy::Instance;
    let shared = case.mig_uuid(0, 2, 0);
    case.slots = vec![(shared.clone(), 2)];
    for (at, name) in ["left", "right"].into_iter().enumerate() {
        let given = Given::Plugin("nvidia.com/mig-3g.40gb.shared".into(), vec![format!("{shared}::{at}")]);
        let half = Hold { instance: Some((2, 3)), ..case.part(0, given, (0, HOUR_S), PARTS * 3 / 14) };
        case.pod(name, (0, None), 0, vec![half]);
    }
    case.pod("alone", (0, None), 0, vec![case.mig(0, 9, "1g.10gb", (0, HOUR_S))]);
    case.work("left", 0, Some(2), (0, None), 50.0);
    case.work("right", 0, Some(2), (0, None), wave(240, 60, 40.0));
    case.work("alone", 0, Some(9), (0, None), 66.0);
    case
}
