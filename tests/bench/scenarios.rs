//! The nodes that are measured. Loads are constant where the library lives in the measured process: what it keeps for
//! a load that changes would be taken for the collector's memory.

use nvidia_ml::scenario::{Gpu, GpuInstance, Process, Scenario, Seconds};

/// GPUs of every node.
pub const GPUS: usize = 8;
/// MIG instances of a GPU that is cut into the smallest.
pub const SLICES: u32 = 7;
/// Above what Linux gives to processes of the machine that the benchmark runs on, nearly always: a peer that reads the
/// real `/proc` must not find some stranger there.
const FIRST_PID: u32 = 4_000_000;

/// Eight H100, each cut into seven, with one process in every instance.
pub fn mig() -> Scenario {
    let mut node = Scenario::new("bench-mig");
    for gpu in 0..GPUS {
        let instances = (0..SLICES).map(|slice| GpuInstance::new(7 + slice, "1g.10gb")).collect();
        node.gpus.push(Gpu::new("h100").with_mig(instances));
        for slice in 0..SLICES {
            let pid = next_pid(&node);
            let busy = f64::from(10 + 11 * slice);
            node.processes.push(pod(pid, gpu).on_instance(7 + slice, 0).busy(busy).memory_mib(4_000.0));
        }
    }
    node
}

/// Eight whole H100, each shared by `each` processes.
pub fn shared(each: u32) -> Scenario {
    let mut node = Scenario::new("bench-shared");
    for gpu in 0..GPUS {
        node.gpus.push(Gpu::new("h100"));
        for _ in 0..each {
            let pid = next_pid(&node);
            let (busy, memory_mib) = (90.0 / f64::from(each), 60_000.0 / f64::from(each));
            node.processes.push(pod(pid, gpu).busy(busy).memory_mib(memory_mib.floor()));
        }
    }
    node
}

/// [`mig`] with loads that change every 30 seconds up to `until_s`, each its own way, as those of a real node: what a
/// spool needs depends on how well its rows compress.
pub fn changing_mig(until_s: i64) -> Scenario {
    let mut node = mig();
    for (index, process) in node.processes.iter_mut().enumerate() {
        let steps = |low: i64, span: i64, salt: i64| -> Vec<(Seconds, f64)> {
            let of =
                |step: i64| low + (step * step * 37 + step * 53 + index as i64 * 71 + salt).rem_euclid(span);
            (0..until_s / 30).map(|step| (Seconds::new(30 * step), of(step) as f64)).collect()
        };
        process.busy = steps(5, 93, 0).into();
        process.memory_mib = steps(1_000, 7_001, 13).into();
    }
    node
}

/// PID of the last process.
pub fn last_pid(node: &Scenario) -> u32 {
    next_pid(node) - 1
}

fn next_pid(node: &Scenario) -> u32 {
    FIRST_PID + u32::try_from(node.processes.len()).expect("a few thousand processes")
}

/// A process in a pod of its own.
fn pod(pid: u32, gpu: usize) -> Process {
    let cgroup = format!(
        "0::/kubepods.slice/kubepods-burstable.slice/\
         kubepods-burstable-pod5d1f2a3b_0c4d_4e5f_8a9b_{pid:012x}.slice/cri-containerd-{pid:064x}.scope"
    );
    Process::new(pid, gpu).uid(1000).cgroup(&cgroup)
}
