//! A plain host from simulated hardware through the shipped collector code to batches: every owner under its full name
//! from the first window on.

use super::daemon::{Daemon, Kind, Knowledge};
use super::library::Library;
use super::{eventually, id};
use collector::batch::Maker;
use collector::clock::{Clock, ManualClock};
use collector::config::{BusySource, Sample};
use collector::containers::{Noticed, Settings, Witness};
use collector::device::NvmlSource;
use collector::held::Held;
use collector::machines::Machines;
use collector::node::Engine;
use collector::owner::Procfs;
use nvidia_ml::scenario::{Gpu, Mode, Process, Scenario, Seconds, Vm};
use schema::id::Incarnation;
use schema::wire::Batch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// 2026-09-01T00:00:00Z.
const T0: i64 = 1_788_220_800_000;
const MINUTES_MS: i64 = 5 * 60_000;
const TICK_MS: i64 = 5_000;
const VM: &str = "8f0a1c2d-3e4b-5a69-7788-99aabbccddee";

fn scenario(uid: u32) -> Scenario {
    let process = |pid: u32, gpu: usize, cgroup: String| {
        Process::new(pid, gpu).cgroup(&format!("0::{cgroup}")).busy(40.0).memory_mib(1000.0)
    };
    let manager = format!("/user.slice/user-{uid}.slice/user@{uid}.service");
    let mut scenario = Scenario::new("n1").starting_at_us(T0 * 1000);
    scenario.gpus = (0..6).map(|_| Gpu::new("l4")).collect();
    scenario.gpus.push(Gpu {
        mode: Mode::Vgpu,
        vms: vec![Vm {
            vm_id: VM.into(),
            vgpu_type: "NVIDIA L40S-12Q".into(),
            start: Seconds::new(0),
            end: None,
            busy: 40.0.into(),
            memory_mib: 8192.0.into(),
            guest_process: "python3".into(),
        }],
        ..Gpu::new("l40s")
    });
    scenario.processes = vec![
        process(101, 0, format!("/system.slice/docker-{}.scope", id("train"))),
        process(102, 1, format!("{manager}/user.slice/libpod-{}.scope/container", id("tune"))).uid(100_999),
        process(103, 2, "/system.slice/serve.service".into()).uid(33),
        Process { login_uid: Some(1000), ..process(104, 3, "/".into()) },
        process(105, 4, "/lxc.payload.first/system.slice/a.service".into()),
        Process {
            uid_map: vec!["0 1000 1".into(), "1 100000 65536".into()],
            ..process(106, 5, "/".into()).uid(100_999)
        },
    ];
    scenario
}

/// Busy percent by owner.
fn busy(batches: &[Batch]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for batch in batches {
        for row in &batch.usage {
            let owner = &batch.owners[row.owner.expect("nobody is a ghost here") as usize];
            let attributes: Vec<String> = owner
                .attributes
                .iter()
                .filter(|attribute| attribute.key != "container_id" && attribute.key != "vm_id")
                .map(|attribute| format!("{}={}", attribute.key, attribute.value))
                .collect();
            *sums.entry(format!("{:?} {}", owner.kind(), attributes.join(" "))).or_default() +=
                row.busy_ms.unwrap_or(0);
        }
    }
    sums.into_iter().map(|(owner, ms)| (owner, (ms as f64 / MINUTES_MS as f64 * 100.0).round())).collect()
}

#[test]
fn a_plain_hosts_owners_have_their_full_names_from_the_first_window_on() {
    let dir = tempfile::tempdir().expect("folder");
    let uid = rustix::process::getuid().as_raw();
    let library = Library::new(dir.path());
    let (procfs, scenario_file) = (dir.path().join("proc"), dir.path().join("scenario.toml"));
    std::fs::create_dir(&procfs).expect("folder");
    std::fs::write(&scenario_file, scenario(uid).to_toml()).expect("scenario");
    library.tell(b"fakeNvmlLoadScenario\0", &scenario_file);
    library.set_time_ms(T0);
    library.tell(b"fakeNvmlSetProcfs\0", &procfs);

    let (of_root, of_user) = (Knowledge::default(), Knowledge::default());
    let docker = dir.path().join("docker.sock");
    let _root = Daemon::start(&docker, Kind::Docker, &of_root);
    let podman = dir.path().join(format!("user/{uid}/podman/podman.sock"));
    let _user = Daemon::start(&podman, Kind::Podman, &of_user);
    of_root.run(&id("train"), "train", "cuda:13", &[("team", "vision")]);
    of_user.run(&id("tune"), "tune", "tune:1", &[]);
    let libvirt = dir.path().join("libvirt");
    std::fs::create_dir(&libvirt).expect("folder");
    let state = format!(
        "<domstatus><domain type='kvm' id='2'><name>win11</name><uuid>{VM}</uuid></domain></domstatus>"
    );
    std::fs::write(libvirt.join("win11.xml"), state).expect("file");

    let clock = ManualClock::at(T0);
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let now = |clock: &ManualClock| {
        let clock = clock.clone();
        move || clock.wall_ms()
    };
    let settings = Settings {
        sockets: vec![docker],
        user_runtime: Some(dir.path().join("user")),
        labels: vec!["team".into()],
        deadline: Duration::from_secs(30),
        wait_ms: 10 * MINUTES_MS,
        aliases: true,
    };
    let witness = Witness::start(settings, now(&clock)).expect("starts");
    let machines = Machines::start(libvirt, Duration::from_millis(50), now(&clock)).expect("starts");
    let boards = vec![witness.register().board().clone(), machines.board().clone()];
    let maker = Maker::new("c".into(), "n1".into(), "boot".into(), Incarnation(1));
    let mut engine = Engine::new(shared.clone(), Sample::default().cadence(), BusySource::default(), maker)
        .with_held(Held::new(boards.clone(), 10 * MINUTES_MS));
    let mut source =
        NvmlSource::new(Some(dir.path().join("libnvidia-ml.so.1").into_os_string()), shared.clone());
    let passwd = dir.path().join("passwd");
    std::fs::write(&passwd, "ada:x:1000:1000::/:/bin/sh\nwww:x:33:33::/:/bin/sh\n").expect("file");
    let procfs = Procfs::new(procfs, Some(passwd));
    let register = Some(witness.register().clone());
    let mut owners = Noticed::new(procfs, register, true, Arc::new(now(&clock)));
    let mut batches = Vec::new();
    for at in (T0..=T0 + MINUTES_MS).step_by(usize::try_from(TICK_MS).expect("small")) {
        clock.advance_to(at);
        library.set_time_ms(at);
        batches.extend(engine.tick(&mut source, &mut owners, &mut Vec::new()));
    }
    let end = T0 + MINUTES_MS;
    eventually("the last word", || {
        boards.iter().all(|board| board.current().known_until_ms >= end).then_some(())
    });
    batches.extend(engine.finish(&mut Vec::new()));

    let want = [
        "Container container_name=first".to_owned(),
        "Container container_name=train image=cuda:13 label:team=vision".into(),
        format!("Container container_name=tune image=tune:1 uid={uid}"),
        "Systemd uid=33 unit=serve.service user=www".into(),
        "User uid=1000 user=ada".into(),
        "Vm vm=win11".into(),
    ];
    let busy = busy(&batches);
    assert_eq!(busy.keys().cloned().collect::<Vec<_>>(), want);
    // Two processes are ada's, on a device each; the rest have one.
    for (owner, percent) in &busy {
        let devices = if owner.starts_with("User") { 2.0 } else { 1.0 };
        assert!((percent - 40.0 * devices).abs() <= 2.0, "{owner}: {percent}");
    }
}

#[test]
fn a_number_that_another_user_gets_within_one_interval_is_each_users_for_its_own_time() {
    let dir = tempfile::tempdir().expect("folder");
    let library = Library::new(dir.path());
    let (procfs, scenario_file) = (dir.path().join("proc"), dir.path().join("scenario.toml"));
    std::fs::create_dir(&procfs).expect("folder");
    let mut scenario = Scenario::new("n1").starting_at_us(T0 * 1000);
    scenario.gpus = vec![Gpu::new("l4")];
    // Lists come at 60 and 70 s: between them the number changes hands.
    scenario.processes = vec![
        Process::new(4242, 0).uid(1000).alive(0, 62).busy(40.0).memory_mib(1000.0),
        Process::new(4242, 0).uid(1001).alive(65, 200).busy(40.0).memory_mib(1000.0),
    ];
    std::fs::write(&scenario_file, scenario.to_toml()).expect("scenario");
    library.tell(b"fakeNvmlLoadScenario\0", &scenario_file);
    library.set_time_ms(T0);
    library.tell(b"fakeNvmlSetProcfs\0", &procfs);
    let clock = ManualClock::at(T0);
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let maker = Maker::new("c".into(), "n1".into(), "boot".into(), Incarnation(1));
    let mut engine = Engine::new(shared.clone(), Sample::default().cadence(), BusySource::default(), maker);
    let mut source = NvmlSource::new(Some(dir.path().join("libnvidia-ml.so.1").into_os_string()), shared);
    let mut owners = Procfs::new(procfs, None);
    let mut batches = Vec::new();
    for at in (T0..=T0 + 120_000).step_by(usize::try_from(TICK_MS).expect("small")) {
        clock.advance_to(at);
        library.set_time_ms(at);
        batches.extend(engine.tick(&mut source, &mut owners, &mut Vec::new()));
    }
    batches.extend(engine.finish(&mut Vec::new()));
    let mut resident: BTreeMap<String, u64> = BTreeMap::new();
    for batch in &batches {
        for row in &batch.usage {
            let owner = &batch.owners[row.owner.expect("nobody is a ghost here") as usize];
            let uid = owner.attributes.iter().find(|attribute| attribute.key == "uid").expect("a user");
            *resident.entry(uid.value.clone()).or_default() += row.resident_ms.unwrap_or(0);
        }
    }
    assert_eq!(resident["1001"], 55_000, "from its own start, and not from the other's");
    assert!((60_000..=65_000).contains(&resident["1000"]), "{resident:?}");
}
