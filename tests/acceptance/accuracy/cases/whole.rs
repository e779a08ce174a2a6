//! GPUs outside MIG: one owner, several in turns, several at once, and a host without a scheduler.

use crate::accuracy::case::{Case, Given, HOUR_S, Holder, PARTS, wave};
use nvidia_ml::scenario::{Gpu, Mode, Process, ProcessUtilization, Seconds, Series};

/// A GPU each: a training run all hour, an evaluation for half of it that starts and ends between whole minutes.
pub fn exclusive() -> Case {
    let mut case = Case::new("exclusive", "whole GPU each", vec![Gpu::new("h100"), Gpu::new("h100")]);
    case.pod("train", (0, None), 1, vec![case.whole(0, (0, HOUR_S))]);
    case.pod("evaluate", (317, Some(2_119)), 1, vec![case.whole(1, (317, 2_119))]);
    case.work("train", 0, None, (4, None), wave(600, 371, 88.0));
    case.work("evaluate", 1, None, (326, Some(2_117)), 37.5);
    case
}

/// Four slots of one GPU: three pods with bursts of seconds, of which one has two slots.
pub fn time_sliced_bursts() -> Case {
    bursts("time_sliced_bursts", "time-slicing, bursts of seconds")
}

/// The same where the driver's utilisation samples tell of the last sample period alone, and not of the time since the
/// last look: NVIDIA's documents leave it open. A burst between two looks isn't seen then.
pub fn time_sliced_last_period() -> Case {
    let mut case = bursts("time_sliced_last_period", "the same, samples of the last second only");
    case.boots[0].scenario.process_utilization = ProcessUtilization::LastPeriod;
    case
}

fn bursts(name: &'static str, title: &'static str) -> Case {
    let mut case = Case::new(name, title, vec![Gpu::new("l40s")]);
    case.slots = vec![(case.uuid(0), 4)];
    let hour = (0, HOUR_S);
    case.pod("chat", (0, None), 1, vec![case.slots(0, &[0], 4, hour)]);
    case.pod("search", (0, None), 2, vec![case.slots(0, &[1, 2], 4, hour)]);
    case.pod("notebook", (905, Some(3_010)), 1, vec![case.slots(0, &[3], 4, (905, 3_010))]);
    case.work("chat", 0, None, (1, None), wave(37, 4, 90.0));
    case.work("search", 0, None, (3, None), wave(11, 3, 70.0));
    case.work("notebook", 0, None, (911, Some(3_009)), wave(90, 7, 100.0));
    case
}

/// Two pods in two slots of one GPU: one works while the other waits.
pub fn opposite_phases() -> Case {
    let mut case = Case::new("opposite_phases", "time-slicing, opposite phases", vec![Gpu::new("a10")]);
    case.slots = vec![(case.uuid(0), 2)];
    for (at, name) in ["day", "night"].into_iter().enumerate() {
        let slot = case.slots(0, &[u32::try_from(at).expect("two")], 2, (0, HOUR_S));
        case.pod(name, (0, None), 1, vec![slot]);
        let turns = (0..6).map(|turn| {
            let percent = if turn % 2 == at { 95.0 } else { 0.0 };
            (Seconds::new(i64::try_from(turn).expect("six") * 600), percent)
        });
        case.work(name, 0, None, (0, None), Series::from(turns.collect::<Vec<_>>()));
    }
    case
}

/// Clients of an MPS server in four slots of one GPU.
pub fn mps() -> Case {
    let mut gpu = Gpu::new("a100-80gb");
    gpu.mode = Mode::Mps;
    let mut case = Case::new("mps", "MPS, slots", vec![gpu]);
    case.slots = vec![(case.uuid(0), 4)];
    let hour = (0, HOUR_S);
    case.pod("small", (0, None), 1, vec![case.slots(0, &[0], 4, hour)]);
    case.pod("large", (0, None), 2, vec![case.slots(0, &[1, 2], 4, hour)]);
    case.work("small", 0, None, (0, None), 21.4);
    case.work("large", 0, None, (0, None), wave(120, 50, 55.0));
    let scenario = &mut case.boots[0].scenario;
    scenario.processes.iter_mut().for_each(|client| client.mps_client = true);
    let mut server = Process::new(5_100_000, 0).name("nvidia-cuda-mps-server").memory_mib(30.0);
    server.mps_server = true;
    scenario.processes.push(server);
    case
}

/// A host without a scheduler: two users on one GPU, who hold it equally while both are there.
pub fn no_scheduler() -> Case {
    let mut case = Case::new("no_scheduler", "two users, no scheduler", vec![Gpu::new("l40s")]);
    case.kubernetes = false;
    let shared = (605, 2_717);
    let mut first = case.part(0, Given::Present, (0, shared.0), PARTS);
    first.spans.extend(case.part(0, Given::Present, shared, PARTS / 2).spans);
    first.spans.extend(case.part(0, Given::Present, (shared.1, HOUR_S), PARTS).spans);
    let second = case.part(0, Given::Present, shared, PARTS / 2);
    for (name, start_s, end_s, hold) in
        [("uid:1001", 0, None, first), ("uid:1002", shared.0, Some(shared.1), second)]
    {
        let holds = vec![hold];
        case.holders.push(Holder { name: name.into(), tenant: name.into(), start_s, end_s, gpus: 0, holds });
    }
    case.work("uid:1001", 0, None, (0, None), wave(90, 40, 60.0));
    case.work("uid:1002", 0, None, (shared.0, Some(shared.1)), 24.4);
    // Two edges, each known to the ten seconds of a process list, at which half of the GPU changes hands.
    case.held_slack_s = 2.0 * 10.0 * 0.5;
    case
}
