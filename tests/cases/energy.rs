//! Energy: the device's own counter, cut into parts that never exceed it.

use crate::hour::{hour, node};
use nvidia_ml::scenario::{Event, GpuInstance, Process, Seconds};

#[test]
fn a_counter_that_starts_anew_counts_from_zero_and_never_backwards() {
    let mut scenario = node(&["h100"]);
    scenario.processes = vec![Process::new(1, 0).uid(1).busy(50.0).memory_mib(100.0)];
    let whole = hour(&scenario, None).devices[0].energy_mj.expect("it has a counter");
    scenario.events = vec![Event::DriverReload { t: Seconds::new(1800) }];
    let hour = hour(&scenario, None);
    let reset = hour.devices[0].energy_mj.expect("it has a counter");
    assert!((0..=whole).contains(&reset) && reset > whole * 9 / 10, "{reset} of {whole}");
    assert!(hour.batches.iter().flat_map(|b| &b.device_windows).any(|window| window.energy_reset));
}

#[test]
fn seven_instances_share_the_cards_energy_and_none_has_all_of_it() {
    let mut scenario = node(&["h100"]);
    let instances = (7..14).map(|gi| GpuInstance::new(gi, "1g.10gb")).collect();
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(instances);
    scenario.processes = (0..7u32)
        .map(|n| Process::new(n + 1, 0).on_instance(7 + n, 0).uid(n + 1).busy(60.0).memory_mib(100.0))
        .collect();
    let hour = hour(&scenario, None);
    let device = hour.devices[0].energy_mj.expect("it has a counter") as f64 / 1e3;
    let parts: Vec<f64> = (1..=7).map(|n| hour.of(&format!("uid-{n}")).joules).collect();
    let sum: f64 = parts.iter().sum();
    assert!(sum <= device + 1e-3 && sum > device * 0.9, "{sum} of {device}");
    assert!(parts.iter().all(|part| *part < device / 6.0), "{parts:?}");
}

#[test]
fn each_pays_the_energy_of_its_own_card_and_a_card_without_load_is_not_the_last_users() {
    let mut scenario = node(&["h100", "h100"]);
    scenario.processes = vec![
        Process::new(1, 0).alive(0, 1800).uid(1).busy(90.0).memory_mib(100.0),
        Process::new(2, 1).uid(2).busy(10.0).memory_mib(100.0),
    ];
    let hour = hour(&scenario, None);
    let device = |index: usize| hour.devices[index].energy_mj.expect("it has a counter") as f64 / 1e3;
    assert!((hour.of("uid-2").joules - device(1)).abs() < device(1) * 0.01, "its card, whole");
    let unattributed = hour.devices[0].energy_unattributed_mj as f64 / 1e3;
    assert!((hour.of("uid-1").joules + unattributed - device(0)).abs() < 1.0, "the parts are the whole");
    // An idle H100 draws some 70 W: half an hour of it is nobody's.
    assert!(unattributed > 1800.0 * 50.0, "after it left, the draw is nobody's: {unattributed}");
}

#[test]
fn a_card_without_a_counter_has_unknown_energy_and_everything_else() {
    let mut scenario = node(&["p100"]);
    scenario.processes = vec![Process::new(1, 0).uid(1).busy(50.0).memory_mib(100.0)];
    let hour = hour(&scenario, None);
    assert_eq!(hour.devices[0].energy_mj, None);
    assert!((hour.of("uid-1").busy - 0.5).abs() < 0.01 && hour.of("uid-1").cost == "3.60");
}
