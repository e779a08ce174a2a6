//! The month's three nodes, and what their schedulers gave to whom: round hours and constant work, so that a reader can
//! work out every figure.

use super::scheduler::{Given, Scheduler};
use chrono::{NaiveDate, TimeZone};
use nvidia_ml::scenario::{Gpu, GpuInstance, Mode, Process, Scenario, Seconds, Vm};
use simulator::node::Cadence;

/// An instant of October 2025 (day 32 is 1 November) in the billing zone, Unix milliseconds.
pub fn october_ms(day: u32, hour: u32) -> i64 {
    let first = NaiveDate::from_ymd_opt(2025, 10, 1).expect("a date");
    let date = first + chrono::Days::new(u64::from(day - 1));
    let local = date.and_hms_opt(hour, 0, 0).expect("an hour of the day");
    chrono_tz::Europe::Berlin
        .from_local_datetime(&local)
        .single()
        .expect("no hour that is there twice")
        .timestamp_millis()
}

/// A node, and when its devices are in service.
pub struct SimulatedNode {
    pub scenario: Scenario,
    pub from_ms: i64,
    pub to_ms: i64,
    pub cadence: Cadence,
    pub scheduler: Option<Scheduler>,
}

/// The whole fleet.
pub fn fleet() -> Vec<SimulatedNode> {
    vec![kubernetes(), slurm(), plain()]
}

fn gpu(preset: &str, uuid: &str) -> Gpu {
    Gpu { uuid: Some(uuid.into()), ..Gpu::new(preset) }
}

/// A scenario from a day of October on.
fn node(name: &str, from_day: u32) -> Scenario {
    Scenario::new(name).starting_at_us(october_ms(from_day, 0) * 1000)
}

/// A whole H100, an L40S of four slots, and an H100 cut by MIG of which the smallest instance has two slots. It stays for six
/// hours of November.
fn kubernetes() -> SimulatedNode {
    let (from_ms, to_ms) = (october_ms(1, 0), october_ms(32, 6));
    let mut scenario = node("kube-1", 1);
    let instances =
        vec![GpuInstance::new(1, "3g.40gb"), GpuInstance::new(3, "2g.20gb"), GpuInstance::new(9, "1g.10gb")];
    scenario.gpus =
        vec![gpu("h100", "GPU-h1"), gpu("l40s", "GPU-l1"), gpu("h100", "GPU-h2").with_mig(instances)];
    let pods = [
        Given::pod("vision", "train").whole("GPU-h1").during(from_ms, october_ms(21, 0)),
        Given::pod("speech", "tune").whole("GPU-h1").during(october_ms(22, 0), october_ms(27, 0)),
        Given::pod("vision", "web").part("GPU-l1", 1, 4).during(from_ms, to_ms),
        Given::pod("speech", "asr").part("GPU-l1", 2, 4).during(october_ms(6, 0), october_ms(16, 0)),
        Given::pod("vision-dev", "notebook").instance("GPU-h2", 1, 1, 1).during(from_ms, to_ms),
        Given::pod("speech", "api").instance("GPU-h2", 9, 1, 2).during(from_ms, to_ms),
    ];
    for (at, (pod, busy)) in pods.iter().zip([80.0, 50.0, 20.0, 30.0, 40.0, 60.0]).enumerate() {
        let index = scenario
            .gpus
            .iter()
            .position(|gpu| gpu.uuid.as_deref() == Some(pod.device()))
            .expect("it is there");
        let since_start = |ms: i64| Seconds::new((ms - from_ms) / 1000);
        let mut process =
            Process::new(4000 + at as u32, index).cgroup(&pod.cgroup()).busy(busy).memory_mib(4096.0);
        process.start = since_start(pod.from_ms);
        process.end = (pod.to_ms < to_ms).then(|| since_start(pod.to_ms));
        scenario.processes.push(match pod.gpu_instance() {
            Some(gi) => process.on_instance(gi, 0),
            None => process,
        });
    }
    let scheduler = Some(Scheduler { source: "kubelet", given: pods.into(), known_until_ms: to_ms });
    SimulatedNode { scenario, from_ms, to_ms, cadence: Cadence::BACKFILL, scheduler }
}

/// An A100 cut in two by MIG, a seventh of it stranded; what its instances do isn't measured.
fn slurm() -> SimulatedNode {
    let (from_ms, to_ms) = (october_ms(20, 0), october_ms(32, 0));
    let mut scenario = node("slurm-1", 20);
    let instances = vec![GpuInstance::new(1, "3g.20gb"), GpuInstance::new(2, "3g.20gb")];
    scenario.gpus = vec![gpu("a100-40gb", "GPU-a1").with_mig(instances)];
    let job = Given::job("speech", "88121").instance("GPU-a1", 1, 1, 1).during(from_ms, to_ms);
    scenario.processes =
        vec![Process::new(5000, 0).on_instance(1, 0).cgroup(&job.cgroup()).busy(70.0).memory_mib(4096.0)];
    let scheduler = Some(Scheduler { source: "slurm", given: vec![job], known_until_ms: to_ms });
    SimulatedNode { scenario, from_ms, to_ms, cadence: Cadence::BACKFILL, scheduler }
}

/// No scheduler: an A100 with an MPS server and two clients, and an L40S with one virtual machine on half of it.
fn plain() -> SimulatedNode {
    let (from_ms, to_ms) = (october_ms(24, 0), october_ms(28, 0));
    let mut scenario = node("plain-1", 24);
    scenario.gpus = vec![
        Gpu { mode: Mode::Mps, ..gpu("a100-80gb", "GPU-a2") },
        Gpu {
            mode: Mode::Vgpu,
            vms: vec![Vm {
                vm_id: "vm-render".into(),
                vgpu_type: "NVIDIA L40S-24Q".into(),
                start: 0.into(),
                end: None,
                busy: 35.0.into(),
                memory_mib: 20_000.0.into(),
                guest_process: "blender".into(),
            }],
            ..gpu("l40s", "GPU-l2")
        },
    ];
    let mut server = Process::new(6000, 0)
        .name("nvidia-cuda-mps-server")
        .cgroup("0::/system.slice/nvidia-mps.service")
        .memory_mib(30.0);
    server.mps_server = true;
    scenario.processes.push(server);
    for (pid, uid, busy) in [(6001, 2001, 30.0), (6002, 2021, 20.0)] {
        let mut client = Process::new(pid, 0)
            .uid(uid)
            .cgroup(&format!("0::/system.slice/serve-{uid}.service"))
            .busy(busy)
            .memory_mib(6_000.0);
        client.mps_client = true;
        scenario.processes.push(client);
    }
    SimulatedNode { scenario, from_ms, to_ms, cadence: Cadence::BACKFILL, scheduler: None }
}
