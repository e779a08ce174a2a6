//! Stories of time: a batch that comes late, a row from the future, a collector older or newer than its server.

use crate::stage::{CLUSTER, Stage, batches, fleet_part, gpu_hours, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use prost::Message;
use schema::wire::Batch;
use simulator::node::Cadence;

fn one_owner(start_ms: i64) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus.push(Gpu::new("h100"));
    node.processes.push(Process::new(4242, 0).uid(2001).cgroup("0::/system.slice/train.service").busy(50.0));
    node
}

#[test]
fn a_late_batch_turns_unobserved_time_into_held_time() {
    let (start_ms, period) = recent(4);
    let made = batches(&one_owner(start_ms), 3, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    // The middle batch is on its way for a long time.
    let (late, punctual): (Vec<Batch>, Vec<Batch>) =
        made.iter().cloned().partition(|b| b.sequence == made.len() as u64 / 2);
    assert_eq!(late.len(), 1);
    stage.service.ship(&credential, &punctual).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let before = stage.bill(&period).expect("a bill");
    stage.service.ship(&credential, &late).expect("accepted late");
    stage.service.wait_closed().expect("closed");
    let after = stage.bill(&period).expect("a bill");
    let hole = gpu_hours(&after, "one") - gpu_hours(&before, "one");
    assert!((hole - 0.25).abs() < 1e-6, "the late window of 15 minutes adds {hole} h");
    assert!((fleet_part(&before, "unobserved") - fleet_part(&after, "unobserved") - 0.25).abs() < 0.01);
    assert!((gpu_hours(&after, "one") - 3.0).abs() < 1e-6);
}

#[test]
fn a_line_opens_down_to_its_slices_and_the_owners_evidence() {
    let (start_ms, period) = recent(4);
    let made = batches(&one_owner(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(&period).expect("a bill");
    let number = bill["statements"][0]["number"].as_str().expect("a number").to_string();
    let opened = stage.service.cli_ok(&["explain", &format!("{number}-L1")]).expect("explained");
    for expected in ["train.service", "h100", "3.60", "uid = \"2001\"", "900000 ms"] {
        assert!(opened.contains(expected), "{expected:?} is missing from:\n{opened}");
    }
}

#[test]
fn rows_from_the_future_become_dead_letters_and_the_rest_counts() {
    let (start_ms, period) = recent(4);
    let mut made = batches(&one_owner(start_ms), 1, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    let day_ms = 24 * 3_600_000;
    let moved = made.last_mut().expect("batches were made");
    let rows = moved.usage.len() + moved.device_windows.len();
    for slice in &mut moved.usage {
        (slice.start_ms, slice.end_ms) = (slice.start_ms + day_ms, slice.end_ms + day_ms);
    }
    for window in &mut moved.device_windows {
        (window.start_ms, window.end_ms) = (window.start_ms + day_ms, window.end_ms + day_ms);
    }
    let receipt = stage.service.ship(&credential, &made).expect("accepted");
    assert_eq!(receipt.dead_letters, rows as u64);
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(&period).expect("a bill");
    assert!((gpu_hours(&bill, "one") - 0.75).abs() < 1e-6, "three of four windows count");
}

#[test]
fn a_newer_collectors_fields_are_skipped_and_its_rows_count() {
    let (start_ms, period) = recent(4);
    let made = batches(&one_owner(start_ms), 1, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    let encoded: Vec<Vec<u8>> = made
        .iter()
        .map(|batch| {
            let mut bytes = batch.encode_to_vec();
            // A field that this server has never heard of.
            prost::encoding::string::encode(900, &"from the future".to_string(), &mut bytes);
            bytes
        })
        .collect();
    collector::shipper::deliver(&stage.service.url(), &credential, &encoded).expect("accepted");
    stage.service.wait_closed().expect("closed");
    assert!((gpu_hours(&stage.bill(&period).expect("a bill"), "one") - 1.0).abs() < 1e-6);
}

#[test]
fn an_older_collectors_absent_fields_are_unknown_and_never_zero() {
    let (start_ms, period) = recent(4);
    let mut made = batches(&one_owner(start_ms), 1, Cadence::BACKFILL, 1).expect("the node runs");
    for slice in made.iter_mut().flat_map(|b| &mut b.usage) {
        (slice.busy_ms, slice.energy_mj, slice.memory_byte_ms) = (None, None, None);
    }
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(&period).expect("a bill");
    let line = &bill["statements"][0]["lines"][0];
    assert_eq!(line["busy_gpu_hours"], "0.000000000");
    assert_eq!(line["held_not_busy_gpu_hours"], "0.000000000");
    assert_eq!(line["use_unknown_gpu_hours"], "1.000000000");
}

#[test]
fn what_was_acknowledged_survives_a_restart_of_service_and_engine() {
    let (start_ms, period) = recent(4);
    let made = batches(&one_owner(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let mut stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    let (first, second) = made.split_at(made.len() / 2);
    stage.service.ship(&credential, first).expect("accepted");
    stage.service.restart().expect("the service comes back");
    stage.service.ship(&credential, second).expect("the credential still holds");
    stage.service.wait_closed().expect("closed");
    assert!((gpu_hours(&stage.bill(&period).expect("a bill"), "one") - 2.0).abs() < 1e-6);
}

#[test]
fn a_node_may_not_write_another_nodes_rows() {
    let (start_ms, _) = recent(4);
    let made = batches(&one_owner(start_ms), 1, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let other = stage.enrol("n2").expect("another node joins");
    assert!(made.iter().all(|b| b.node == "n1" && b.cluster == CLUSTER));
    let rows: usize = made.iter().map(|b| b.usage.len() + b.device_windows.len()).sum();
    match stage.service.ship(&other, &made) {
        Ok(receipt) => assert_eq!((receipt.rows, receipt.dead_letters > 0), (0, rows > 0)),
        Err(error) => assert!(error.to_string().contains("didn't take"), "{error:#}"),
    }
}
