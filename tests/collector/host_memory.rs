//! Host memory with tiers: what a workload has on a CXL expander travels with its use of devices.

use crate::rig::{Rig, Setup, node};
use nvidia_ml::scenario::Process;

const MIB: u64 = 1 << 20;

fn write(root: &std::path::Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().expect("in a folder")).expect("a folder");
    std::fs::write(file, text).expect("a file");
}

#[test]
fn memory_on_a_node_without_processors_is_the_workloads_far_memory() {
    let sysfs = tempfile::tempdir().expect("a folder");
    write(sysfs.path(), "devices/system/node/node0/cpulist", "0-63\n");
    write(sysfs.path(), "devices/system/node/node1/cpulist", "\n");
    let group = "system.slice/slurmstepd.scope/job_211/step_0/user/task_0";
    let stat = format!("anon N0={} N1={}\nfile N0=0 N1={}\n", 300 * MIB, 100 * MIB, 100 * MIB);
    write(sysfs.path(), &format!("fs/cgroup/{group}/memory.numa_stat"), &stat);
    let mut scenario = node("h100", 2);
    let process = |gpu| Process::new(7, gpu).uid(1000).cgroup(&format!("0::/{group}")).memory_mib(1.0);
    scenario.processes.extend([process(0), process(1)]);

    let more = format!("[host]\nsysfs = {:?}\n", sysfs.path());
    let mut rig = Rig::running(&scenario, Setup { more, ..Setup::default() });
    rig.until_ready();
    let name = "slicemeter_usage_host_memory_byte_seconds_total";
    rig.until_at_least(name, &["slurm", "far"], (200 * MIB) as f64);
    assert!(rig.stop().success());
    let batches = rig.spooled();
    let mut rows = 0;
    for batch in &batches {
        for row in &batch.host_memory {
            let job = &batch.owners[row.owner as usize].attributes[0];
            assert_eq!((&*job.key, &*job.value), ("slurm_job", "211"));
            let ms = u64::try_from(row.end_ms - row.start_ms).expect("it lasted");
            assert_eq!(
                (row.near_byte_ms, row.far_byte_ms),
                (300 * MIB * ms, 200 * MIB * ms),
                "once, not by GPU"
            );
            rows += 1;
        }
    }
    assert!(rows > 0);
}
