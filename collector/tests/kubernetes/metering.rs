//! An hour of a node, from simulated hardware through the shipped collector code to batches, with Kubernetes' word on
//! who held what: held time is exact, whatever processes do.
#![allow(unsafe_code)] // The simulated library's clock and scenario are set through its C interface.

use super::api_server::{ApiServer, PODS};
use super::kubelet::{Knowledge, Kubelet};
use super::{eventually, says};
use collector::batch::Maker;
use collector::clock::{Clock, ManualClock};
use collector::config::{BusySource, Sample};
use collector::device::NvmlSource;
use collector::held::Held;
use collector::kubernetes::devices::KnownDevice;
use collector::kubernetes::{KubernetesConfig, Witness, start};
use collector::node::Engine;
use collector::owner::Procfs;
use nvidia_ml::scenario::{Gpu, GpuInstance, Process, Scenario};
use schema::id::Incarnation;
use schema::wire::{Batch, Reason};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

/// 2026-09-01T00:00:00Z.
const T0: i64 = 1_788_220_800_000;
const HOUR_MS: i64 = 3_600_000;
const TICK_MS: i64 = 5_000;

const SLICED: &str = "GPU-aaaaaaaa-3e4b-5a69-7788-99aabbccddee";
const CUT: &str = "GPU-bbbbbbbb-3e4b-5a69-7788-99aabbccddee";
const HAMI: &str = "GPU-cccccccc-3e4b-5a69-7788-99aabbccddee";
const CLAIMED: &str = "GPU-dddddddd-3e4b-5a69-7788-99aabbccddee";
const PAIR: &str = "GPU-eeeeeeee-3e4b-5a69-7788-99aabbccddee";

/// The simulated library, loaded as the collector loads it.
struct Library(libloading::Library);

impl Library {
    fn new(dir: &Path) -> Self {
        let beside = std::env::current_exe().expect("a path").with_file_name("libnvidia_ml.so");
        let path = dir.join("libnvidia-ml.so.1");
        std::fs::copy(beside, &path).expect("the simulated library is built beside its tests");
        // SAFETY: the library is ours; loading it initialises its own statics only.
        Self(unsafe { libloading::Library::new(path).expect("loads") })
    }

    fn set_time_ms(&self, unix_ms: i64) {
        // SAFETY: exported under this name with this signature.
        let set: libloading::Symbol<unsafe extern "C" fn(i64)> =
            unsafe { self.0.get(b"fakeNvmlSetTimeUs\0").expect("exported") };
        // SAFETY: it takes a plain number.
        unsafe { set(unix_ms * 1000) }
    }

    fn tell(&self, name: &[u8], path: &Path) {
        let path = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: both functions that are told a path have this signature.
        let tell: libloading::Symbol<unsafe extern "C" fn(*const std::ffi::c_char) -> i32> =
            unsafe { self.0.get(name).expect("exported") };
        // SAFETY: the string lives until the call returns.
        assert_eq!(unsafe { tell(path.as_ptr()) }, 0, "refused {path:?}");
    }
}

fn container_id(pod: &str) -> String {
    format!("{:0<64}", pod.bytes().map(|b| format!("{b:02x}")).collect::<String>())
}

fn pod(name: &str, started: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("{name}-uid")},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running", "startTime": started,
            "containerStatuses": [{"name": "main", "containerID": format!("containerd://{}", container_id(name))}]}
    })
}

/// A process of a pod's container, from the kubelet's systemd driver.
fn process(pid: u32, gpu: usize, pod: &str, container: &str) -> Process {
    let uid = format!("{pod}-uid").replace('-', "_");
    let scope = format!("cri-containerd-{}.scope", container_id(container));
    Process::new(pid, gpu).cgroup(&format!(
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice/{scope}"
    ))
}

fn scenario() -> Scenario {
    let gpu = |preset: &str, uuid: &str| Gpu { uuid: Some(uuid.into()), ..Gpu::new(preset) };
    let mut scenario = Scenario::new("n1").starting_at_us(T0 * 1000);
    let instances =
        vec![GpuInstance::new(1, "3g.40gb"), GpuInstance::new(3, "2g.20gb"), GpuInstance::new(9, "1g.10gb")];
    scenario.gpus = vec![
        gpu("l40s", SLICED),
        gpu("h100", CUT).with_mig(instances),
        gpu("a100-80gb", HAMI),
        gpu("l4", CLAIMED),
        gpu("l4", PAIR),
    ];
    scenario.processes = vec![
        process(101, 0, "ts-one", "ts-one").busy(30.0).memory_mib(1000.0),
        // It was given nothing and uses the device all the same.
        process(102, 0, "thief", "thief").busy(20.0).memory_mib(1000.0),
        process(103, 1, "mig", "mig").on_instance(1, 0).busy(50.0).memory_mib(1000.0),
        process(104, 2, "hami", "hami").alive(600, 1200).busy(80.0).memory_mib(1000.0),
        process(105, 4, "pair", "pair").busy(30.0).memory_mib(1000.0),
        process(106, 4, "pair", "pair-side").busy(10.0).memory_mib(1000.0),
    ];
    scenario
}

/// What a pod held and used.
#[derive(Debug, Default, Clone, PartialEq)]
struct Pod {
    /// Held device time in 1/840 of a millisecond, so that every share here is whole.
    held: u64,
    busy_ms: u64,
    unknown: bool,
}

fn sums(batches: &[Batch]) -> BTreeMap<String, Pod> {
    let mut sums: BTreeMap<String, Pod> = BTreeMap::new();
    for batch in batches {
        for row in &batch.usage {
            let owner = &batch.owners[row.owner.expect("nobody is a ghost here") as usize];
            let name = |key: &str| owner.attributes.iter().find(|a| a.key == key).map(|a| a.value.clone());
            let side = name("container").is_some_and(|container| container == "side");
            let pod = name("pod").unwrap_or_else(|| format!("{:?}", owner.attributes));
            let pod = sums.entry(if side { format!("{pod}/side") } else { pod }).or_default();
            let given = row.allocated_ms.expect("a scheduler was asked of every device here");
            assert_eq!(840 % row.share_den, 0, "{row:?}");
            pod.held += given * u64::from(840 / row.share_den * row.share_num);
            pod.busy_ms += row.busy_ms.unwrap_or(0);
            pod.unknown |= row.busy_ms.is_none() && row.unknown_reason() != Reason::FirstSample;
        }
    }
    sums
}

#[test]
fn an_hour_of_a_shared_node_is_held_to_the_millisecond() {
    let dir = tempfile::tempdir().expect("folder");
    let library = Library::new(dir.path());
    let (procfs, scenario_file) = (dir.path().join("proc"), dir.path().join("scenario.toml"));
    std::fs::create_dir(&procfs).expect("folder");
    std::fs::write(&scenario_file, scenario().to_toml()).expect("scenario");
    library.tell(b"fakeNvmlLoadScenario\0", &scenario_file);
    library.set_time_ms(T0);
    library.tell(b"fakeNvmlSetProcfs\0", &procfs);

    let clock = ManualClock::at(T0);
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let witness = Witness::default();
    let maker = Maker::new("c".into(), "n1".into(), "boot".into(), Incarnation(1));
    let mut engine = Engine::new(shared.clone(), Sample::default().cadence(), BusySource::default(), maker)
        .with_held(Held::new(vec![witness.board.clone()], 100 * HOUR_MS));
    let mut source =
        NvmlSource::new(Some(dir.path().join("libnvidia-ml.so.1").into_os_string()), shared.clone());
    let mut owners = Procfs::new(procfs, None);
    let mut batches = engine.tick(&mut source, &mut owners, &mut Vec::new());

    let reading = &engine.sampler.last;
    let mig = |profile: &str| {
        let instances =
            reading.devices.iter().flat_map(|d| d.outcome.as_ref().ok()).flat_map(|g| g.mig.iter().flatten());
        instances.filter(|i| i.profile == profile).map(|i| i.uuid.clone()).next().expect("it is cut so")
    };
    let known = reading.devices.iter().map(|device| KnownDevice {
        uuid: device.identity.uuid.clone(),
        index: device.identity.index,
        minor: device.identity.minor,
        memory_mib: device
            .identity
            .memory_total_bytes
            .map(|bytes| u32::try_from(bytes >> 20).expect("small")),
    });
    witness.devices.set(known.collect());
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.offer(SLICED, 4);
    knowledge.offer(&mig("1g.10gb"), 2);
    knowledge.give("ts-one", "main", "nvidia.com/gpu", &[format!("{SLICED}::0")]);
    knowledge.give("ts-two", "main", "nvidia.com/gpu", &[format!("{SLICED}::1"), format!("{SLICED}::3")]);
    knowledge.give("mig", "main", "nvidia.com/mig-3g.40gb", &[mig("3g.40gb")]);
    knowledge.give("mig-slot", "main", "nvidia.com/mig-1g.10gb.shared", &[format!("{}::1", mig("1g.10gb"))]);
    knowledge.give("hami", "main", "nvidia.com/gpu", &[format!("{HAMI}-4")]);
    knowledge.offer(PAIR, 2);
    knowledge.give("pair", "main", "nvidia.com/gpu", &[format!("{PAIR}::0")]);
    knowledge.give("pair", "side", "nvidia.com/gpu", &[format!("{PAIR}::1")]);
    let (start_of_hour, half_past) = ("2026-09-01T00:00:00Z", "2026-09-01T00:30:00Z");
    for name in ["ts-one", "ts-two", "thief", "mig", "mig-slot", "early"] {
        api.put(PODS, pod(name, start_of_hour));
    }
    api.put(PODS, pod("late", half_past));
    let mut quarter = pod("hami", start_of_hour);
    quarter["metadata"]["annotations"] =
        json!({"hami.io/vgpu-devices-allocated": format!("{HAMI},NVIDIA,16384,25:;")});
    api.put(PODS, quarter);
    let mut pair = pod("pair", start_of_hour);
    pair["spec"]["containers"] = json!([{"name": "main"}, {"name": "side"}]);
    let side = json!({"name": "side", "containerID": format!("containerd://{}", container_id("pair-side"))});
    pair["status"]["containerStatuses"].as_array_mut().expect("a list").push(side);
    api.put(PODS, pair);
    let dra = "/apis/resource.k8s.io/v1";
    let device = json!({"name": "gpu-3", "attributes": {"uuid": {"string": CLAIMED}}});
    api.put(
        &format!("{dra}/resourceslices"),
        json!({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com", "pool": {"name": "n1"}, "devices": [device]}}),
    );
    let result = json!({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-3"});
    let claim = json!({"metadata": {"name": "shared", "namespace": "ns"}, "status": {"allocation": {"devices": {"results": [result]}}}});
    api.put(&format!("{dra}/namespaces/ns/resourceclaims"), claim);
    knowledge.claim("early", "main", "shared", "gpu-3");
    knowledge.claim("late", "main", "shared", "gpu-3");

    let config = KubernetesConfig {
        socket: dir.path().join("kubelet.sock"),
        poll_seconds: 1,
        ..KubernetesConfig::default()
    };
    let time = clock.clone();
    let running = start(config, "n1", Some(api.url()), &witness, &(Arc::new(move || time.wall_ms()) as _))
        .expect("starts");
    says(
        &witness,
        &[
            "early/main 1 for 1800 s",
            "early/main 1/2",
            "hami/main 1/4",
            "late/main 1/2",
            "mig-slot/main 1/2",
            "mig/main 1",
            "pair/main 1/2",
            "pair/side 1/2",
            "ts-one/main 1/4",
            "ts-two/main 1/2",
        ],
    );

    for at in (T0 + TICK_MS..=T0 + HOUR_MS).step_by(usize::try_from(TICK_MS).expect("small")) {
        clock.advance_to(at);
        library.set_time_ms(at);
        batches.extend(engine.tick(&mut source, &mut owners, &mut Vec::new()));
    }
    eventually("the last word", || (witness.board.current().known_until_ms >= T0 + HOUR_MS).then_some(()));
    batches.extend(engine.finish(&mut Vec::new()));
    drop(running);

    let sums = sums(&batches);
    let hour = HOUR_MS as u64;
    let held: BTreeMap<&str, u64> = sums.iter().map(|(name, pod)| (name.as_str(), pod.held)).collect();
    let want = [
        ("early", hour * 840 * 3 / 4),
        ("hami", hour * 840 / 4),
        ("late", hour * 840 / 4),
        ("mig", hour * 840 * 3 / 7),
        ("mig-slot", hour * 840 / 14),
        ("pair", hour * 840 / 2),
        ("pair/side", hour * 840 / 2),
        ("thief", 0),
        ("ts-one", hour * 840 / 4),
        ("ts-two", hour * 840 / 2),
    ];
    assert_eq!(held, want.into());
    let busy_percent = |name: &str| (sums[name].busy_ms as f64 / HOUR_MS as f64 * 100.0).round();
    assert_eq!(
        (busy_percent("ts-one"), busy_percent("thief")),
        (30.0, 20.0),
        "who uses without being given is shown"
    );
    assert_eq!(
        (busy_percent("ts-two"), sums["ts-two"].unknown),
        (0.0, false),
        "holding without a process is known not to be busy"
    );
    assert!((busy_percent("hami") - 13.0).abs() <= 1.0, "80 % for ten minutes: {}", busy_percent("hami"));
    assert_eq!(
        (busy_percent("pair"), busy_percent("pair/side")),
        (30.0, 10.0),
        "each container used its own"
    );
}
