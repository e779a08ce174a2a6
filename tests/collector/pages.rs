//! The pages as Prometheus and its old dashboards read them.

use crate::rig::{Page, Rig, Setup, node, uuid};
use nvidia_ml::scenario::{ComputeInstance, Event, GpuInstance, MigLayout, Process, Scenario, Seconds};
use std::io::Write;
use std::process::{Command, Stdio};

const POD: &str = "0::/kubepods.slice/kubepods-burstable.slice/\
                   kubepods-burstable-pod11111111_2222_3333_4444_55555555555N.slice/cri-containerd-\
                   abababababababababababababababababababababababababababababababab.scope";

fn pod(number: u32) -> String {
    POD.replace('N', &number.to_string())
}

/// GPU 0 whole with one pod, GPU 1 under MIG with two compute instances in one GPU instance, GPU 2 an A100 shared by two pods.
fn mixed() -> Scenario {
    let mut scenario = node("h100", 2);
    let shared = node("a100-80gb", 3).gpus.pop().expect("three");
    scenario.gpus.push(shared);
    let mut instance = GpuInstance::new(2, "3g.40gb");
    let part = |ci, slices| ComputeInstance { ci, slices, slot: None, uuid: None };
    instance.compute = vec![part(0, 1), part(1, 2)];
    let instances = vec![instance, GpuInstance::new(9, "1g.10gb")];
    scenario.gpus[1].mig.push(MigLayout { from: Seconds::new(-60), to: None, instances });
    scenario.processes.push(Process::new(100, 0).uid(1).cgroup(&pod(1)).busy(50.0).memory_mib(4096.0));
    scenario.processes.push(Process::new(101, 1).on_instance(2, 1).uid(2).busy(50.0).memory_mib(2048.0));
    scenario.processes.push(Process::new(102, 2).uid(3).cgroup(&pod(2)).busy(20.0).memory_mib(2048.0));
    scenario.processes.push(Process::new(103, 2).uid(4).cgroup(&pod(3)).busy(20.0).memory_mib(2048.0));
    scenario.events.push(Event::Xid { gpu: 0, t: Seconds::new(4), code: 79, gi: None });
    scenario
}

/// What promtool says of a page: exit code and all its words.
fn promtool(page: &str) -> (Option<i32>, String) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool is installed by tests/setup.sh");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(page.as_bytes()).expect("promtool reads");
    drop(input);
    let output = child.wait_with_output().expect("promtool ends");
    let words = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&words).into_owned())
}

#[test]
fn both_pages_are_what_prometheus_and_old_dashboards_expect() {
    let rig = Rig::running(&mixed(), Setup::default());
    rig.until_ready();
    rig.until_at_least("slicemeter_usage_held_seconds_total", &[&uuid(0), "kubernetes"], 0.5);
    rig.until_at_least("slicemeter_gpu_xid_errors_total", &[&uuid(0), "79"], 1.0);
    rig.until_at_least("slicemeter_gpu_mig_sm_active_ratio", &[&uuid(1)], 0.0);
    // A device's links: PCIe everywhere, NVLink where it has one.
    rig.until_at_least("slicemeter_gpu_pcie_sent_bytes_total", &[&uuid(0)], 1.0);
    rig.until_at_least("slicemeter_gpu_nvlink_received_bytes_total", &[&uuid(0)], 1024.0);
    let own = rig.metrics();
    assert_eq!(promtool(&own.0), (Some(0), String::new()), "{}", own.0);
    let answer = rig.get("/metrics").expect("it answers");
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);

    let answer = rig.get("/metrics/dcgm").expect("it answers");
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let (code, words) = promtool(&answer.body);
    assert_ne!(code, Some(1), "it parses: {words}");
    check_dcgm(&Page(answer.body));
}

fn check_dcgm(dcgm: &Page) {
    let of = |name, index: usize| dcgm.lines(name, &[&uuid(index)]).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of("DCGM_FI_DEV_GPU_UTIL", 0).len(), 1);
    assert_eq!(of("DCGM_FI_DEV_GPU_UTIL", 1), Vec::<String>::new(), "under MIG there is none, not 0");
    let used = of("DCGM_FI_DEV_FB_USED", 1);
    assert_eq!(used.len(), 2, "one for each GPU instance: {used:?}");
    for (line, gi) in used.iter().zip(["2", "9"]) {
        assert!(line.contains(&format!("GPU_I_ID=\"{gi}\"")) && line.contains("GPU_I_PROFILE="), "{line}");
    }
    for index in 0..3 {
        for name in
            ["DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"]
        {
            let lines = of(name, index);
            assert!(lines.len() == 1 && !lines[0].contains("GPU_I_"), "once, on the device: {lines:?}");
        }
    }
    assert_eq!(of("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 2).len(), 0, "before Hopper there is none");
    let pods = |index| of("DCGM_FI_DEV_GPU_TEMP", index)[0].contains("pod");
    assert_eq!([pods(0), pods(1), pods(2)], [true, false, false], "a sole pod is named, of two neither");
    assert!(!dcgm.0.contains("=\"\""), "a label without a value is left out");
    let none = ["9223372036854775794", "18446744073709551615", "17592186044415", " -1", "NaN"];
    assert!(none.iter().all(|value| !dcgm.0.contains(value)), "NVML's blanks never get out:\n{}", dcgm.0);
    assert!(of("DCGM_FI_DEV_XID_ERRORS", 0)[0].ends_with(" 79"));
}
