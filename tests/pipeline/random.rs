//! Laws over random fleets: the bill adds up to the hardware, agrees with a plain model, and doesn't change when the same
//! batches come again, in another order and in other groups.

use crate::stage::{HOUR_MS, Stage, batches, decimal, gpu_hours, recent};
use nvidia_ml::scenario::{Gpu, GpuInstance, Process, Scenario};
use proptest::prelude::*;
use schema::wire::Batch;
use serde_json::Value;
use simulator::node::Cadence;

const HOURS: i64 = 3;
/// A minute between readings keeps a case short; an edge may be off by as much.
const CADENCE: Cadence = Cadence { gauges_ms: 60_000, processes_ms: 60_000, window_ms: 300_000 };

#[derive(Debug, Clone)]
struct Job {
    gpu: usize,
    instance: usize,
    start_s: i64,
    len_s: i64,
    uid: u32,
    busy: f64,
}

fn job() -> impl Strategy<Value = Job> {
    (0usize..3, 0usize..3, 0i64..HOURS * 3600 - 600, 300i64..7200, 2001u32..2004, 0.0f64..100.0).prop_map(
        |(gpu, instance, start_s, len_s, uid, busy)| Job { gpu, instance, start_s, len_s, uid, busy },
    )
}

/// Two whole H100 and one cut by MIG, with one seventh stranded.
fn fleet(jobs: &[Job], start_ms: i64) -> Scenario {
    let gis = [(1, "3g.40gb"), (2, "2g.20gb"), (9, "1g.10gb")];
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    let instances = gis.iter().map(|(gi, profile)| GpuInstance::new(*gi, profile)).collect();
    node.gpus = vec![Gpu::new("h100"), Gpu::new("h100"), Gpu::new("h100").with_mig(instances)];
    for (index, job) in jobs.iter().enumerate() {
        let end_s = (job.start_s + job.len_s).min(HOURS * 3600);
        let mut process = Process::new(5000 + index as u32, job.gpu)
            .alive(job.start_s, end_s)
            .uid(job.uid)
            .cgroup(&format!("0::/system.slice/job-{index}.service"))
            .busy(job.busy)
            .memory_mib(1024.0);
        if job.gpu == 2 {
            process = process.on_instance(gis[job.instance].0, 0);
        }
        node.processes.push(process);
    }
    node
}

/// The same batches twice, interleaved from both ends, in groups of another size.
fn shuffled(batches: &[Batch]) -> Vec<Batch> {
    let mut all: Vec<Batch> = batches.iter().rev().cloned().collect();
    all.extend(batches.iter().cloned());
    let half = all.len() / 2;
    let (a, b) = all.split_at(half);
    a.iter().zip(b).flat_map(|(a, b)| [b.clone(), a.clone()]).collect()
}

/// Everything of a bill but when it was last added to.
fn essence(mut bill: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("data_through");
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut bill);
    bill
}

fn lines_sum_to_totals(bill: &Value) {
    for statement in bill["statements"].as_array().expect("statements") {
        let nano =
            |v: &Value| v.as_str().expect("a decimal").replace('.', "").parse::<i128>().expect("digits");
        let lines: i128 =
            statement["lines"].as_array().expect("lines").iter().map(|l| nano(&l["gpu_hours"])).sum();
        assert_eq!(lines, nano(&statement["totals"]["gpu_hours"]), "lines of {}", statement["number"]);
        for row in statement["proof"].as_array().expect("a proof") {
            let parts = ["yours", "others", "free", "stranded", "unavailable", "unobserved"];
            let sum: i128 = parts.iter().map(|p| nano(&row[*p])).sum();
            assert_eq!(sum, nano(&row["capacity"]), "proof of {}", row["device"]);
        }
    }
}

proptest! {
    // Each case is a service with an engine; a failure is small enough to read without shrinking for long.
    #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_bill_adds_up_agrees_with_the_model_and_counts_everything_once(jobs in prop::collection::vec(job(), 1..14)) {
        let (start_ms, period) = recent(HOURS + 1);
        let scenario = fleet(&jobs, start_ms);
        let made = batches(&scenario, HOURS, CADENCE, 7).expect("the node runs");
        let stage = Stage::new().expect("the service starts");
        let credential = stage.enrol("n1").expect("the node joins");
        stage.service.ship(&credential, &made).expect("accepted");
        stage.service.wait_closed().expect("closed");
        let first = stage.bill(&period).expect("a bill");

        prop_assert_eq!(&first["fleet"]["adds_up"], &Value::Bool(true));
        lines_sum_to_totals(&first);
        let held = harness::model::held(&scenario, 0, HOURS * HOUR_MS * 1000, &|p| p.uid.to_string());
        for (tenant, uid) in [("one", "2001"), ("two", "2002"), ("three", "2003")] {
            let want: f64 = held.iter().filter(|((_, o), _)| o == uid).map(|(_, us)| us / 3.6e9).sum();
            // Half a reading at each edge of a job, and at each change that it makes to its neighbours' shares.
            let allowed = 2.0 * jobs.len() as f64 * 60.0 / 3600.0;
            let got = gpu_hours(&first, tenant);
            prop_assert!((got - want).abs() <= allowed, "{} holds {} h, the model says {} h", tenant, got, want);
        }
        // The device cut by MIG has six of seven slices covered.
        let stranded = crate::stage::fleet_part(&first, "stranded");
        prop_assert!((stranded - HOURS as f64 / 7.0).abs() < 1e-6, "stranded {}", stranded);

        for group in shuffled(&made).chunks(5) {
            stage.service.ship(&credential, group).expect("accepted again");
        }
        stage.service.wait_closed().expect("closed again");
        let second = stage.bill(&period).expect("a bill");
        // The present moves the silent hours after the run; what was observed may not move.
        prop_assert_eq!(essence(first["statements"].clone()), essence(second["statements"].clone()));
        prop_assert!(decimal(&second["fleet"]["busy_gpu_hours"]) == decimal(&first["fleet"]["busy_gpu_hours"]));
    }
}
