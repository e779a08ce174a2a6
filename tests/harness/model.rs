//! The bill as it should be, straight from a scenario: a plain sweep over its processes, in exact fractions of
//! microseconds. It shares no code with the collector, the hour close or rating; it's slow and obvious on purpose.

use nvidia_ml::scenario::{Process, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// Held device time per (GPU index, owner) in microseconds of whole device, as a float only at the end.
pub type Held = BTreeMap<(usize, String), f64>;

/// Who holds what during `[from_us, to_us)` of the scenario's own time (t = 0 is its start): every owner with a process
/// on the device holds an equal part of it; under MIG, of the compute instance's slices out of `slices`.
///
/// `owner` names a process's owner; processes of one owner count once.
pub fn held(scenario: &Scenario, from_us: i64, to_us: i64, owner: &dyn Fn(&Process) -> String) -> Held {
    let mut held = Held::new();
    for gpu in 0..scenario.gpus.len() {
        let here: Vec<&Process> = scenario.processes.iter().filter(|p| p.gpu == Some(gpu)).collect();
        let mut edges: BTreeSet<i64> = [from_us, to_us].into();
        for process in &here {
            edges.insert(process.start.micros().clamp(from_us, to_us));
            edges.insert(end_us(process).clamp(from_us, to_us));
        }
        let edges: Vec<i64> = edges.into_iter().collect();
        for span in edges.windows(2) {
            let (start, end) = (span[0], span[1]);
            let mut by_place: BTreeMap<Option<(u32, u32)>, BTreeSet<String>> = BTreeMap::new();
            for process in here.iter().filter(|p| p.start.micros() <= start && end <= end_us(p)) {
                if process.mps_server {
                    continue;
                }
                let place = process.gi.map(|gi| (gi, process.ci.unwrap_or(0)));
                by_place.entry(place).or_default().insert(owner(process));
            }
            for (place, owners) in by_place {
                let share = place.map_or(1.0, |(gi, ci)| slices(scenario, gpu, start, gi, ci) / 7.0);
                for name in &owners {
                    *held.entry((gpu, name.clone())).or_default() +=
                        (end - start) as f64 * share / owners.len() as f64;
                }
            }
        }
    }
    held
}

fn end_us(process: &Process) -> i64 {
    process.end.map_or(i64::MAX, |end| end.micros())
}

/// Compute slices of an instance, read off its profile's first digit or its own list.
fn slices(scenario: &Scenario, gpu: usize, at_us: i64, gi: u32, ci: u32) -> f64 {
    let layout = scenario.gpus[gpu]
        .mig
        .iter()
        .find(|l| l.from.micros() <= at_us && l.to.is_none_or(|to| at_us < to.micros()))
        .expect("a process under MIG lives in a layout");
    let instance = layout.instances.iter().find(|i| i.gi == gi).expect("its instance exists");
    let own = instance.compute.iter().find(|c| c.ci == ci).map(|c| c.slices);
    let whole = instance
        .profile
        .chars()
        .next()
        .and_then(|c| c.to_digit(10))
        .expect("a profile starts with its slices");
    f64::from(own.unwrap_or(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvidia_ml::scenario::{Gpu, GpuInstance};

    #[test]
    fn two_owners_hold_half_each_while_both_are_there() {
        let mut node = Scenario::new("n");
        node.gpus.push(Gpu::new("h100"));
        node.processes.push(Process::new(1, 0).alive(0, 10).uid(1));
        node.processes.push(Process::new(2, 0).alive(5, 10).uid(2));
        let held = held(&node, 0, 10_000_000, &|p| p.uid.to_string());
        assert_eq!(held[&(0, "1".into())], 7_500_000.0);
        assert_eq!(held[&(0, "2".into())], 2_500_000.0);
    }

    #[test]
    fn an_instance_is_its_slices_of_seven() {
        let mut node = Scenario::new("n");
        node.gpus.push(Gpu::new("h100").with_mig(vec![GpuInstance::new(2, "3g.40gb")]));
        node.processes.push(Process::new(1, 0).on_instance(2, 0).alive(0, 7).uid(1));
        let held = held(&node, 0, 7_000_000, &|p| p.uid.to_string());
        assert_eq!(held[&(0, "1".into())], 3_000_000.0);
    }
}
