//! A job on many GPUs and nodes is one workload: one line, whose members are named by node and device, with what the job
//! had on host memory tiers beside them.

use crate::stage::{Stage, batches, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use schema::wire::HostMemory;
use simulator::node::Cadence;

const GIB: u64 = 1 << 30;

#[test]
fn a_job_on_two_nodes_is_one_workload_with_its_members() {
    let (start_ms, period) = recent(4);
    let node = |name: &str, gpus: usize| {
        let mut node = Scenario::new(name).starting_at_us(start_ms * 1000);
        for gpu in 0..gpus {
            node.gpus.push(Gpu { uuid: Some(format!("GPU-{name}-{gpu}")), ..Gpu::new("h100") });
            let group = format!("0::/system.slice/slurmstepd.scope/job_211/step_0/user/task_{gpu}");
            let rank = Process::new(10 + gpu as u32, gpu).uid(2001).cgroup(&group);
            node.processes.push(rank.busy(50.0).memory_mib(1024.0));
        }
        node
    };
    let stage = Stage::new().expect("the service starts");
    for (number, (name, gpus)) in (1..).zip([("n1", 2), ("n2", 1)]) {
        let mut made = batches(&node(name, gpus), 2, Cadence::BACKFILL, number).expect("the node runs");
        // As a node with a CXL expander tells it; this one's machine has none.
        for batch in &mut made {
            let window = batch.usage.first().map(|row| (row.start_ms, row.end_ms));
            let row = window.map(|(start_ms, end_ms)| {
                let ms = u64::try_from(end_ms - start_ms).expect("a window has a length");
                HostMemory {
                    owner: 0,
                    start_ms,
                    end_ms,
                    near_byte_ms: 3 * GIB * ms,
                    far_byte_ms: GIB * ms / 2,
                }
            });
            batch.host_memory.extend(row);
        }
        let credential = stage.enrol(name).expect("the node joins");
        stage.service.ship(&credential, &made).expect("accepted");
        // Sent again, it counts once.
        stage.service.ship(&credential, &made).expect("accepted");
    }
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(&period).expect("a bill");
    let statement = &bill["statements"][0];
    assert_eq!(
        (&bill["statements"][1], statement["lines"].as_array().map(Vec::len)),
        (&serde_json::Value::Null, Some(1))
    );
    assert_eq!(statement["totals"]["gpu_hours"], "6.000000000");
    let reference = format!("{}-L1", statement["number"].as_str().expect("a number"));
    let text = stage.service.cli_ok(&["explain", &reference]).expect("it opens");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(plain.matches("slurm_job=211").count(), 1, "{text}");
    assert!(plain.contains("on n1: GPU-n1-0 2, GPU-n1-1 2; on n2: GPU-n2-0 2"), "{text}");
    assert!(plain.contains("host memory: 12.00 GiB-hours near, 2.00 far"), "{text}");
}
