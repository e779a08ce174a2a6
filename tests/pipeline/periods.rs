//! The life of a month through the front door: checked, closed (by two at once), late data, corrected, moved to another
//! tenant, credited, and a price book on trial.

use crate::stage::{CLUSTER, HOUR_MS, PRICES, Stage, TENANTS, batches, decimal};
use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Utc};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use schema::wire::Batch;
use serde_json::Value;
use simulator::node::Cadence;

/// Sao Paulo has had no clock change since 2019.
const OFFSET_MS: i64 = 3 * HOUR_MS;

/// The last month that ended at least two hours ago: its label, its end (Unix ms) and the label of the month after.
pub fn closed_month() -> (String, i64, String) {
    let local = DateTime::from_timestamp_millis(Utc::now().timestamp_millis() - OFFSET_MS - 2 * HOUR_MS)
        .expect("a near instant");
    let first = NaiveDate::from_ymd_opt(local.year(), local.month(), 1).expect("a month has a first day");
    let end_ms =
        Utc.from_utc_datetime(&first.and_time(chrono::NaiveTime::MIN)).timestamp_millis() + OFFSET_MS;
    let label = |date: NaiveDate| date.format("%Y-%m").to_string();
    (label(first.pred_opt().expect("a day before")), end_ms, label(first))
}

pub fn owner_of_one_gpu(start_ms: i64) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus.push(Gpu::new("h100"));
    node.processes.push(Process::new(4242, 0).uid(2001).cgroup("0::/system.slice/train.service").busy(50.0));
    node
}

/// The node's device is in service from `start_ms` to `end_ms`: no hour up to today has to be closed for it.
pub fn in_service(stage: &Stage, made: &[Batch], start_ms: i64, end_ms: i64) {
    let local = |at_ms: i64| {
        let at = DateTime::from_timestamp_millis(at_ms - OFFSET_MS).expect("a near instant");
        at.format("%Y-%m-%dT%H:%M").to_string()
    };
    let device = &made[0].devices[0];
    let what = ["--cluster", CLUSTER, "--device", &device.uuid];
    let (from, to) = (local(start_ms), local(end_ms));
    let expect = ["--node", "n1", "--model", &device.model, "--from", &from];
    stage.service.cli_ok(&[&["inventory", "expect"], &what[..], &expect].concat()).expect("expected");
    stage.service.cli_ok(&[&["inventory", "retire"], &what[..], &["--at", &to]].concat()).expect("retired");
}

pub fn said(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let output = stage.service.cli(args).expect("the command runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// What a statement of a bill posts: its total, and the sum of its corrections.
pub fn amounts(bill: &Value, tenant: &str) -> (f64, f64) {
    let statements = bill["statements"].as_array().expect("statements");
    let Some(statement) = statements.iter().find(|s| s["tenant"]["id"] == tenant) else { return (0.0, 0.0) };
    let charges = statement["charges"].as_array().expect("charges");
    let corrections = charges.iter().filter(|c| c["kind"] == "correction").map(|c| decimal(&c["amount"]));
    (decimal(&statement["totals"]["amount"]), corrections.sum())
}

#[test]
fn a_month_is_closed_once_stays_as_it_was_and_is_corrected_in_the_next() {
    let (month, end_ms, next) = closed_month();
    let made =
        batches(&owner_of_one_gpu(end_ms - 3 * HOUR_MS), 4, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    in_service(&stage, &made, end_ms - 3 * HOUR_MS, end_ms + HOUR_MS);
    // A batch of the month's last hours is on its way for a long time.
    let (late, punctual): (Vec<Batch>, Vec<Batch>) = made.into_iter().partition(|b| b.sequence == 4);
    stage.service.ship(&credential, &punctual).expect("accepted");
    stage.service.wait_closed().expect("closed");

    let (status, text) = said(&stage, &["period", "check", &month]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("coverage: 91.66 %") && text.contains("they add up to the hardware"), "{text}");
    let (status, text) = said(&stage, &["period", "close", &month]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("isn't closed"), "{text}");

    let close =
        ["period", "close", &month, "--waive", "coverage", "--reason", "rack moved", "--author", "ada"];
    let manifests: Vec<String> = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| said(&stage, &close)));
        both.map(|thread| thread.join().expect("no panic"))
            .into_iter()
            .map(|(status, text)| {
                assert_eq!(status, Some(0), "{text}");
                text.trim().rsplit(' ').next().expect("a manifest").to_owned()
            })
            .collect()
    });
    assert_eq!(manifests[0], manifests[1], "two that close at once agree on one");
    let closed = stage.bill(&month).expect("a bill");
    let statement = &closed["statements"][0];
    assert_eq!(statement["context"]["status"], "FINAL");
    assert_eq!(statement["context"]["manifest"], manifests[0].as_str());
    assert_eq!(statement["context"]["waivers"][0]["reason"], "rack moved");
    assert_eq!(statement["totals"]["gpu_hours"], "2.750000000");
    let (status, text) = said(&stage, &["period", "verify", &month]);
    assert_eq!((status, text.contains("everything is as it was closed")), (Some(0), true), "{text}");

    // Late usage changes nothing in the closed month and is a correction in the next.
    stage.service.ship(&credential, &late).expect("accepted late");
    stage.service.wait_closed().expect("closed");
    assert_eq!(stage.bill(&month).expect("a bill"), closed, "a closed month never changes");
    let (status, text) = said(&stage, &["period", "diff", &month]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("late or corrected usage") && text.contains("0.250000000"), "{text}");
    let correct =
        |reason: &str| said(&stage, &["period", "correct", &month, "--into", &next, "--reason", reason]);
    let (status, text) = correct("batch came late");
    assert_eq!(status, Some(0), "{text}");
    let bill = stage.bill(&next).expect("a bill");
    assert_eq!(amounts(&bill, "one"), (3.60 + 0.90, 0.90));
    assert_eq!(bill["fleet"]["adds_up"], true);
    let (status, text) = said(&stage, &["period", "diff", &month]);
    assert_eq!((status, text.contains("nothing differs")), (Some(0), true), "{text}");
    assert!(correct("again").1.starts_with("0 corrections"), "corrected once");

    // The usage was another's all along: what one gets back is what the other pays.
    stage.write_tenants(
        &TENANTS.replace("uid = \"2001\"", "uid = \"9\"").replace("uid = \"2002\"", "uid = \"2001\""),
    );
    let (status, text) = correct("namespace belonged to two");
    assert_eq!(status, Some(0), "{text}");
    let bill = stage.bill(&next).expect("a bill");
    let (one, two) = (amounts(&bill, "one"), amounts(&bill, "two"));
    assert!((one.1 - (0.90 - 10.80)).abs() < 1e-9 && (two.1 - 10.80).abs() < 1e-9, "{one:?} {two:?}");
    assert_eq!(stage.bill(&month).expect("a bill"), closed);

    // A line of the closed month still opens, with the tenants that it was closed with.
    let number = closed["statements"][0]["number"].as_str().expect("a number");
    let (status, text) = said(&stage, &["explain", &format!("{number}-L1")]);
    assert_eq!((status, text.contains("train.service")), (Some(0), true), "{text}");

    // People post to open months only.
    let add = |period: &str| {
        let what = ["adjust", "add", "--period", period, "--tenant", "two", "--kind", "credit"];
        said(&stage, &[&what[..], &["--amount=-1.50", "--reason", "XID 79", "--author", "ada"]].concat())
    };
    let (status, text) = add(&month);
    assert_eq!((status, text.contains("is closed and never changes")), (Some(2), true), "{text}");
    assert_eq!(add(&next).0, Some(0));
    let after = amounts(&stage.bill(&next).expect("a bill"), "two").0;
    assert!((after - (two.0 - 1.50)).abs() < 1e-9, "{after}");
    let (_, text) = said(&stage, &["adjust", "list", "--period", &next]);
    assert!(text.contains("XID 79 (posted by ada)"), "{text}");
    let reconcile = ["adjust", "reconcile", "--period", &next, "--invoice", "cloud 77", "--total", "1000.00"];
    assert_eq!(said(&stage, &reconcile).0, Some(0));
    let bill = stage.bill(&next).expect("a bill");
    assert_eq!(bill["fleet"]["amount"], "1000.00", "the ledger is the invoice, by a row of its own");
    let (status, text) = said(&stage, &reconcile);
    assert_eq!((status, text.contains("agrees with the ledger")), (Some(0), true), "{text}");
    let (_, text) = said(&stage, &["period", "list"]);
    assert!(text.contains("closed by ada"), "{text}");
}

#[test]
fn a_price_book_on_trial_shows_what_each_would_pay_and_keeps_nothing() {
    let (month, end_ms, _) = closed_month();
    let made =
        batches(&owner_of_one_gpu(end_ms - 2 * HOUR_MS), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    in_service(&stage, &made, end_ms - 2 * HOUR_MS, end_ms);
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let before = stage.bill(&month).expect("a bill");
    let trial = stage.path("trial.toml");
    let dearer = PRICES.replace("3.60", "7.20");
    let contract = "[[price]]\nid = \"one\"\nmodel = \"NVIDIA H100*\"\ntenant = \"one\"\nper_gpu_hour = \"3.00\"\nfrom = \"2020-01-01\"\n";
    for (book, then) in [(dearer.clone(), "14.40"), (format!("{dearer}{contract}"), "6.00")] {
        std::fs::write(&trial, book).expect("written");
        let path = trial.to_str().expect("a path of ASCII");
        let (status, text) = said(&stage, &["report", "--period", &month, "--what-if", path]);
        assert_eq!(status, Some(0), "{text}");
        let row = text.lines().find(|line| line.starts_with("one ")).unwrap_or_else(|| panic!("{text}"));
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[1..3], ["7.20", then], "{text}");
    }
    assert_eq!(stage.bill(&month).expect("a bill"), before, "a trial changes nothing");
}
