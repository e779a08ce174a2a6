//! The demo's nodes: every kind of sharing that the library simulates, with the habits of a real cluster.
//!
//! Seeded and pure: the same month comes out each time. Jobs follow each other on a device with pauses between them,
//! teams hold what they don't use, an instance layout changes, a device falls off the bus.

use nvidia_ml::scenario::{
    ComputeInstance, Event, Gpu, GpuInstance, MigLayout, Mode, Process, Scenario, Seconds, Series, Vm, Wave,
};

const HOUR_S: i64 = 3600;
const DAY_S: i64 = 24 * HOUR_S;

/// A small generator of repeatable numbers (SplitMix64); the demo needs variety, not randomness.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[low, high)`.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.roll() % (high - low) as u64) as i64
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[(self.roll() % from.len() as u64) as usize]
    }
}

/// A user of the demo cluster: uid and the team that `tenants.toml` of the demo puts it in.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    /// How busy its jobs keep what they hold, percent.
    busy: (i64, i64),
}

const VISION: [User; 2] = [User { uid: 2001, busy: (70, 99) }, User { uid: 2002, busy: (40, 90) }];
const SPEECH: [User; 2] = [User { uid: 2011, busy: (55, 95) }, User { uid: 2012, busy: (5, 30) }];
const LANGUAGE: [User; 2] = [User { uid: 2021, busy: (80, 99) }, User { uid: 2022, busy: (0, 8) }];

/// The demo's `tenants.toml`: three research teams, a product and a contractor known by their uids and units.
pub const TENANTS_TOML: &str = include_str!("../demo/tenants.toml");

/// The demo's `prices.toml`; `month` is `2026-10`.
pub fn prices_toml(month: &str) -> String {
    include_str!("../demo/prices.toml").replace("@MONTH@", month)
}

/// All nodes of the demo, from `start_ms` for `days` days.
pub fn demo(start_ms: i64, days: i64) -> Vec<Scenario> {
    let span_s = days * DAY_S;
    vec![
        training(span_s),
        mig_hopper(span_s),
        mig_ampere(span_s),
        time_sliced(span_s),
        mps(span_s),
        vgpu(span_s),
    ]
    .into_iter()
    .map(|scenario| scenario.starting_at_us(start_ms * 1000))
    .collect()
}

/// Eight whole H100 under Slurm; one is lost for six hours on the ninth day.
fn training(span_s: i64) -> Scenario {
    let mut node = Scenario::new("train-a");
    let mut dice = Dice(1);
    let users = [VISION[0], VISION[1], SPEECH[0], SPEECH[1], LANGUAGE[0], LANGUAGE[1]];
    let mut job = 88_000;
    for gpu in 0..8 {
        node.gpus.push(Gpu::new("h100"));
        let mut at = dice.between(0, 2 * HOUR_S);
        while at < span_s {
            let end = (at + dice.between(2 * HOUR_S, 40 * HOUR_S)).min(span_s);
            let user = *dice.pick(&users);
            job += 1;
            let cgroup = format!("0::/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0");
            node.processes.push(
                Process::new(10_000 + job, gpu)
                    .alive(at, end)
                    .uid(user.uid)
                    .cgroup(&cgroup)
                    .busy(wave(&mut dice, user))
                    .memory_mib(dice.between(8_000, 76_000) as f64),
            );
            at = end + dice.between(900, 5 * HOUR_S);
        }
    }
    let lost = 8 * DAY_S + 9 * HOUR_S;
    node.events.push(Event::Xid { gpu: 5, t: Seconds::new(lost - 1), code: 79, gi: None });
    node.events.push(Event::GpuLost {
        gpu: 5,
        from: Seconds::new(lost),
        to: Some(Seconds::new(lost + 6 * HOUR_S)),
    });
    node
}

/// Two H100 cut by MIG: sparse slots and two compute instances in one GPU instance on the first; the second is
/// reconfigured on the fifteenth day.
fn mig_hopper(span_s: i64) -> Scenario {
    let mut node = Scenario::new("mig-h");
    let shared = GpuInstance {
        compute: vec![
            ComputeInstance { ci: 0, slices: 1, slot: Some(0), uuid: None },
            ComputeInstance { ci: 1, slices: 2, slot: Some(1), uuid: None },
        ],
        ..GpuInstance::new(2, "3g.40gb")
    };
    let sparse = GpuInstance { slot: Some(5), ..GpuInstance::new(9, "1g.10gb") };
    node.gpus.push(Gpu::new("h100").with_mig(vec![shared, GpuInstance::new(3, "2g.20gb"), sparse]));
    let cut = (14 * DAY_S + 10 * HOUR_S).min(span_s);
    let mut second = Gpu::new("h100");
    second.mig = vec![
        MigLayout {
            from: Seconds::ZERO,
            to: Some(Seconds::new(cut)),
            instances: vec![GpuInstance::new(1, "4g.40gb"), GpuInstance::new(2, "3g.40gb")],
        },
        MigLayout {
            from: Seconds::new(cut + 300),
            to: None,
            instances: (7..14).map(|gi| GpuInstance::new(gi, "1g.10gb")).collect(),
        },
    ];
    node.gpus.push(second);

    let mut dice = Dice(2);
    let mut pid = 20_000;
    let mut serve = |node: &mut Scenario, gpu: usize, gi: u32, ci: u32, from: i64, to: i64, user: User| {
        pid += 1;
        node.processes.push(
            Process::new(pid, gpu)
                .on_instance(gi, ci)
                .alive(from, to)
                .uid(user.uid)
                .cgroup(&format!("0::/system.slice/notebook-{}-{pid}.service", user.uid))
                .busy(wave(&mut dice, user))
                .memory_mib(3_000.0),
        );
    };
    serve(&mut node, 0, 2, 0, 0, span_s, VISION[1]);
    serve(&mut node, 0, 2, 1, 5 * HOUR_S, span_s - HOUR_S, SPEECH[0]);
    serve(&mut node, 0, 3, 0, DAY_S, 20 * DAY_S, LANGUAGE[1]);
    serve(&mut node, 0, 9, 0, 2 * DAY_S, span_s, SPEECH[1]);
    serve(&mut node, 1, 1, 0, 0, cut, LANGUAGE[0]);
    serve(&mut node, 1, 2, 0, 3 * HOUR_S, cut - HOUR_S, VISION[0]);
    for (gi, user) in [(7, VISION[0]), (8, VISION[1]), (9, SPEECH[0]), (10, SPEECH[1]), (11, LANGUAGE[1])] {
        serve(&mut node, 1, gi, 0, cut + 900, span_s, user);
    }
    node
}

/// Two A100 cut by MIG: held time is known, use isn't (`mig_pre_hopper`); a seventh of the first is stranded.
fn mig_ampere(span_s: i64) -> Scenario {
    let mut node = Scenario::new("mig-a");
    node.gpus.push(
        Gpu::new("a100-40gb").with_mig(vec![GpuInstance::new(1, "3g.20gb"), GpuInstance::new(2, "3g.20gb")]),
    );
    node.gpus
        .push(Gpu::new("a100-40gb").with_mig((7..14).map(|gi| GpuInstance::new(gi, "1g.5gb")).collect()));
    let mut dice = Dice(3);
    let mut pid = 30_000;
    for (gpu, gi) in [(0, 1), (0, 2)].into_iter().chain((7..13).map(|gi| (1, gi))) {
        let mut at = dice.between(0, DAY_S);
        while at < span_s {
            let end = (at + dice.between(DAY_S, 9 * DAY_S)).min(span_s);
            let user = *dice.pick(&[VISION[0], SPEECH[1], LANGUAGE[0]]);
            pid += 1;
            node.processes.push(
                Process::new(pid, gpu)
                    .on_instance(gi, 0)
                    .alive(at, end)
                    .uid(user.uid)
                    .cgroup(&format!("0::/system.slice/slurmstepd.scope/job_{pid}/step_0/user/task_0"))
                    .busy(wave(&mut dice, user))
                    .memory_mib(2_500.0),
            );
            at = end + dice.between(HOUR_S, DAY_S);
        }
    }
    node
}

/// Four L40S on which users of several teams take turns, and one that is busy for a day with no process to be found.
fn time_sliced(span_s: i64) -> Scenario {
    let mut node = Scenario::new("slice-l");
    let mut dice = Dice(4);
    let mut pid = 40_000;
    for gpu in 0..4 {
        node.gpus.push(Gpu::new("l40s"));
        for user in [VISION[1], SPEECH[1], LANGUAGE[1], SPEECH[0]].into_iter().take(2 + gpu % 3) {
            let mut at = dice.between(0, DAY_S);
            while at < span_s {
                let end = (at + dice.between(12 * HOUR_S, 6 * DAY_S)).min(span_s);
                pid += 1;
                node.processes.push(
                    Process::new(pid, gpu)
                        .alive(at, end)
                        .uid(user.uid)
                        .cgroup(&format!("0::/user.slice/user-{0}.slice/session-{pid}.scope", user.uid))
                        .busy(wave(&mut dice, User { busy: (5, 45), ..user }))
                        .memory_mib(dice.between(2_000, 9_000) as f64),
                );
                at = end + dice.between(HOUR_S, DAY_S);
            }
        }
    }
    node.gpus.push(Gpu::new("l40s"));
    node.gpus[4].ghost_busy =
        Some(Series::Steps(vec![(Seconds::new(11 * DAY_S), 30.0), (Seconds::new(12 * DAY_S), 0.0)]));
    node
}

/// One A100 80GB with an MPS server and three clients of three teams.
fn mps(span_s: i64) -> Scenario {
    let mut node = Scenario::new("mps-a");
    let mut gpu = Gpu::new("a100-80gb");
    gpu.mode = Mode::Mps;
    node.gpus.push(gpu);
    let mut server = Process::new(50_000, 0)
        .name("nvidia-cuda-mps-server")
        .cgroup("0::/system.slice/nvidia-mps.service")
        .alive(0, span_s)
        .memory_mib(30.0);
    server.mps_server = true;
    node.processes.push(server);
    let mut dice = Dice(5);
    for (pid, user, from) in
        [(50_001, VISION[0], 0), (50_002, SPEECH[0], DAY_S), (50_003, LANGUAGE[1], 3 * DAY_S)]
    {
        let mut client = Process::new(pid, 0)
            .alive(from, span_s)
            .uid(user.uid)
            .cgroup(&format!("0::/system.slice/serve-{}.service", user.uid))
            .busy(wave(&mut dice, User { busy: (10, 30), ..user }))
            .memory_mib(6_000.0);
        client.mps_client = true;
        node.processes.push(client);
    }
    node
}

/// One L40S of a hypervisor with two virtual machines.
fn vgpu(span_s: i64) -> Scenario {
    let mut node = Scenario::new("vm-host");
    let mut gpu = Gpu::new("l40s");
    gpu.mode = Mode::Vgpu;
    gpu.vms = [("vm-render", 0, 35.0), ("vm-desktop", 2 * DAY_S, 12.0)]
        .into_iter()
        .map(|(vm_id, from, busy)| Vm {
            vm_id: vm_id.to_string(),
            vgpu_type: "NVIDIA L40S-24Q".to_string(),
            start: Seconds::new(from),
            end: Some(Seconds::new(span_s)),
            busy: busy.into(),
            memory_mib: 20_000.0.into(),
            guest_process: "python3".to_string(),
        })
        .collect();
    node.gpus.push(gpu);
    node
}

/// A square wave: work comes in bursts of hours.
fn wave(dice: &mut Dice, user: User) -> Series {
    let period_s = dice.between(HOUR_S, 8 * HOUR_S);
    Series::Wave(Wave {
        period_s: Seconds::new(period_s),
        on_s: Seconds::new(period_s * dice.between(50, 98) / 100),
        percent: dice.between(user.busy.0, user.busy.1) as f64,
    })
}
