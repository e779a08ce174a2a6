//! Attribution held against the ground truth of scenarios, per sharing mode, at the default cadence.
//!
//! Each scenario runs for an hour through the shipped collector code. Held time may err by the sampling period at each
//! edge of a process; busy time by 1 % an hour where the device can tell, and is unknown where it can't.

use anyhow::Result;
use harness::figures::{Figures, Target};
use harness::usage::Sums;
use nvidia_ml::scenario::{
    Gpu, GpuInstance, Mode, Process, ProcessUtilization, Scenario, Seconds, Series, Vm, Wave,
};
use nvidia_ml::truth::{Truth, truth};
use simulator::node::{Cadence, SimNode};
use std::collections::BTreeMap;

/// 2026-09-01T00:00:00Z.
const START_MS: i64 = 1_788_220_800_000;
const HOUR_MS: i64 = 3_600_000;
/// Process lists are read every 10 s: the most that an edge may be off.
const PERIOD_S: f64 = 10.0;
const SECTION: &str = "attribution";

/// Runs all modes.
///
/// # Errors
/// A scenario can't be run.
pub fn run(figures: &mut Figures) -> Result<()> {
    measured(figures, "exclusive", exclusive(), Cadence::DEFAULT)?;
    measured(
        figures,
        "time_sliced_mean",
        time_sliced(ProcessUtilization::MeanSinceLastSeen),
        Cadence::DEFAULT,
    )?;
    let last = time_sliced(ProcessUtilization::LastPeriod);
    let at_default = outcome(&last, Cadence::DEFAULT)?;
    figures.add(
        SECTION,
        "time_sliced_last_period_busy_error_at_5s",
        at_default.busy_percent,
        "%",
        Target::Shown,
    );
    let every_second = Cadence { gauges_ms: 1_000, ..Cadence::DEFAULT };
    let at_second = outcome(&last, every_second)?;
    figures.add(
        SECTION,
        "time_sliced_last_period_busy_error_at_1s",
        at_second.busy_percent,
        "%",
        Target::AtMost(1.0),
    );
    measured(figures, "mps", mps(), Cadence::DEFAULT)?;
    measured(figures, "mig_hopper", mig("h100", ["3g.40gb", "2g.20gb", "1g.10gb"]), Cadence::DEFAULT)?;
    let ampere = outcome(&mig("a100-40gb", ["3g.20gb", "2g.10gb", "1g.5gb"]), Cadence::DEFAULT)?;
    figures.add(SECTION, "mig_ampere_held_error", ampere.held_edge_s, "s an edge", Target::AtMost(PERIOD_S));
    // Nothing can know the use of a MIG instance before Hopper: a known figure there would be invented.
    figures.add(SECTION, "mig_ampere_busy_known", ampere.busy_known_s, "s", Target::AtMost(0.0));
    measured(figures, "vgpu", vgpu(), Cadence::DEFAULT)?;
    Ok(())
}

struct Outcome {
    /// Largest error of held (natural) time of an owner, per edge of its processes, seconds.
    held_edge_s: f64,
    /// Largest error of busy time of an owner, percent of the hour.
    busy_percent: f64,
    /// Busy time that was given as known, seconds.
    busy_known_s: f64,
    /// Device energy minus the truth, and any excess of the parts over it, millijoules.
    energy_residual_mj: f64,
}

fn measured(figures: &mut Figures, mode: &str, scenario: Scenario, cadence: Cadence) -> Result<()> {
    let outcome = outcome(&scenario, cadence)?;
    figures.add(
        SECTION,
        &format!("{mode}_held_error"),
        outcome.held_edge_s,
        "s an edge",
        Target::AtMost(PERIOD_S),
    );
    figures.add(
        SECTION,
        &format!("{mode}_busy_error"),
        outcome.busy_percent,
        "% of the hour",
        Target::AtMost(1.0),
    );
    figures.add(
        SECTION,
        &format!("{mode}_energy_residual"),
        outcome.energy_residual_mj,
        "mJ",
        Target::AtMost(0.0),
    );
    Ok(())
}

fn outcome(scenario: &Scenario, cadence: Cadence) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let mut node = SimNode::new(dir.path(), "acceptance", scenario, cadence, START_MS, 1)?;
    let mut batches = node.advance_to(START_MS + HOUR_MS)?;
    batches.extend(node.flush());
    let mut sums = Sums::default();
    batches.iter().for_each(|batch| sums.add(batch));
    let truth = truth(scenario, START_MS * 1000, (START_MS + HOUR_MS) * 1000);
    let mut outcome =
        Outcome { held_edge_s: 0.0, busy_percent: 0.0, busy_known_s: 0.0, energy_residual_mj: 0.0 };
    for (owner, want) in wanted(&truth) {
        let got = sums.of_owner(&owner);
        let held_s = (got.natural_ms - want.resident_us / 1000.0).abs() / 1000.0;
        let busy = (got.busy_ms - want.busy_us / 1000.0).abs() / HOUR_MS as f64 * 100.0;
        outcome.held_edge_s = outcome.held_edge_s.max(held_s / want.edges.max(1.0));
        outcome.busy_percent = outcome.busy_percent.max(busy);
        outcome.busy_known_s += got.busy_ms / 1000.0;
    }
    for gpu in &truth.gpus {
        let device = sums.devices.get(&gpu.uuid).copied().unwrap_or_default();
        let parts: u64 =
            sums.used.iter().filter(|((d, _), _)| *d == gpu.uuid).map(|(_, u)| u.energy_mj).sum();
        let off = (device.energy_mj as f64 - gpu.energy_mj as f64).abs();
        outcome.energy_residual_mj += off + parts.saturating_sub(device.energy_mj) as f64;
    }
    Ok(outcome)
}

#[derive(Default)]
struct Want {
    resident_us: f64,
    busy_us: f64,
    /// Starts and ends inside the hour.
    edges: f64,
}

fn wanted(truth: &Truth) -> BTreeMap<String, Want> {
    let mut wanted: BTreeMap<String, Want> = BTreeMap::new();
    for process in &truth.processes {
        // The MPS server works for its clients; its own time is theirs.
        if process.name.contains("mps-server") {
            continue;
        }
        let want = wanted.entry(format!("uid:{}", process.uid)).or_default();
        want.resident_us += process.resident_us as f64;
        want.busy_us += process.busy_us as f64;
        want.edges += f64::from(u8::from(process.start_us > truth.from_us));
        want.edges += f64::from(u8::from(process.end_us.is_some_and(|end| end < truth.to_us)));
    }
    for vm in &truth.vms {
        let want = wanted.entry(format!("vm:{}", vm.vm_id)).or_default();
        want.resident_us += vm.resident_us as f64;
        want.busy_us += vm.busy_us as f64;
    }
    wanted
}

fn node() -> Scenario {
    Scenario::new("truth").starting_at_us(START_MS * 1000)
}

fn wave(period_s: i64, on_s: i64, percent: f64) -> Series {
    Series::Wave(Wave { period_s: Seconds::new(period_s), on_s: Seconds::new(on_s), percent })
}

fn exclusive() -> Scenario {
    let mut node = node();
    node.gpus = vec![Gpu::new("h100"), Gpu::new("l40s")];
    node.processes = vec![
        Process::new(101, 0).alive(0, 3600).uid(1).busy(37.5).memory_mib(4096.0),
        Process::new(102, 1).alive(17, 1234).uid(2).busy(wave(60, 23, 88.3)).memory_mib(1024.0),
        Process::new(103, 1).alive(1811, 3333).uid(3).busy(wave(600, 371, 100.0)).memory_mib(1024.0),
    ];
    node
}

fn time_sliced(semantics: ProcessUtilization) -> Scenario {
    let mut node = node();
    node.process_utilization = semantics;
    node.gpus = vec![Gpu::new("l40s")];
    node.processes = vec![
        Process::new(201, 0).alive(0, 3600).uid(1).busy(wave(90, 40, 60.0)).memory_mib(2048.0),
        Process::new(202, 0).alive(0, 3600).uid(2).busy(24.4).memory_mib(2048.0),
        Process::new(203, 0).alive(605, 2717).uid(3).busy(wave(37, 11, 80.0)).memory_mib(2048.0),
    ];
    node
}

fn mps() -> Scenario {
    let mut node = node();
    let mut gpu = Gpu::new("a100-80gb");
    gpu.mode = Mode::Mps;
    node.gpus = vec![gpu];
    let mut server = Process::new(300, 0).name("nvidia-cuda-mps-server").alive(0, 3600).memory_mib(30.0);
    server.mps_server = true;
    node.processes = vec![server];
    for (pid, uid, busy) in [(301, 1, Series::from(31.4)), (302, 2, wave(120, 50, 55.0))] {
        let mut client = Process::new(pid, 0).alive(0, 3600).uid(uid).busy(busy).memory_mib(2048.0);
        client.mps_client = true;
        node.processes.push(client);
    }
    node
}

fn mig(preset: &str, profiles: [&str; 3]) -> Scenario {
    let mut node = node();
    let instances =
        profiles.iter().zip([2, 3, 9]).map(|(profile, gi)| GpuInstance::new(gi, profile)).collect();
    node.gpus = vec![Gpu::new(preset).with_mig(instances)];
    node.processes = vec![
        Process::new(401, 0).on_instance(2, 0).alive(0, 3600).uid(1).busy(61.7).memory_mib(2048.0),
        Process::new(402, 0)
            .on_instance(3, 0)
            .alive(123, 2345)
            .uid(2)
            .busy(wave(300, 100, 90.0))
            .memory_mib(2048.0),
        Process::new(403, 0).on_instance(9, 0).alive(0, 3600).uid(3).busy(5.5).memory_mib(2048.0),
    ];
    node
}

fn vgpu() -> Scenario {
    let mut node = node();
    let mut gpu = Gpu::new("l40s");
    gpu.mode = Mode::Vgpu;
    gpu.vms = [("a", Series::from(33.3)), ("b", wave(200, 90, 50.0))]
        .into_iter()
        .map(|(vm_id, busy)| Vm {
            vm_id: vm_id.to_string(),
            vgpu_type: "NVIDIA L40S-24Q".to_string(),
            start: Seconds::ZERO,
            end: None,
            busy,
            memory_mib: 8192.0.into(),
            guest_process: "python3".to_string(),
        })
        .collect();
    node.gpus = vec![gpu];
    node
}
