//! Work lost to a failure through the front door: proposed, not posted, approved, on the statement, and only once.

use crate::stage::{CLUSTER, HOUR_MS, PRICES, Stage, TENANTS, batches, decimal};
use chrono::{DateTime, Utc};
use nvidia_ml::scenario::{Event, Gpu, Process, Scenario, Seconds};
use serde_json::Value;
use simulator::node::Cadence;

const RULE: &str = "\
[[credit_rule]]\nid = \"lost-work\"\ncap_hours = 2\nreasons = [\"gpu-lost\", \"fatal-xid\"]\nfrom = \"2020-01-01\"\n";

/// A start some hours ago whose hours, and the failure in them, lie in one month of Sao Paulo; and that month.
fn start_and_month() -> (i64, String) {
    let now_ms = Utc::now().timestamp_millis() / HOUR_MS * HOUR_MS;
    let month = |ms: i64| {
        let local = DateTime::from_timestamp_millis(ms - 3 * HOUR_MS).expect("a near instant");
        local.format("%Y-%m").to_string()
    };
    let start_ms = (7..16)
        .map(|hours| now_ms - hours * HOUR_MS)
        .find(|start_ms| month(*start_ms) == month(start_ms + 5 * HOUR_MS))
        .expect("no month ends twice in a day");
    (start_ms, month(start_ms))
}

/// Three cards with a user each: the first has a fault that its program made, the second falls off the bus after 3 h 30 min
/// and comes back after 4 h 15, and the third says XID 79 after 2 h 30 min and is lost for good 2 s later.
fn node_that_loses_cards(start_ms: i64) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus = vec![Gpu::new("h100"), Gpu::new("h100"), Gpu::new("h100")];
    let (lost_s, xid_s) = (3 * 3600 + 1800, 2 * 3600 + 1800);
    let back_s = lost_s + 45 * 60;
    node.processes = vec![
        Process::new(1, 0).uid(2001).busy(50.0).memory_mib(100.0),
        Process::new(2, 1).alive(0, lost_s).uid(2002).busy(50.0).memory_mib(100.0),
        Process::new(3, 1).alive(back_s, 5 * 3600).uid(2002).busy(50.0).memory_mib(100.0),
        Process::new(4, 2).alive(xid_s - 2700, xid_s + 2).uid(2003).busy(50.0).memory_mib(100.0),
    ];
    node.events = vec![
        Event::Xid { gpu: 0, t: Seconds::new(3600), code: 31, gi: None },
        Event::GpuLost { gpu: 1, from: Seconds::new(lost_s), to: Some(Seconds::new(back_s)) },
        Event::Xid { gpu: 2, t: Seconds::new(xid_s), code: 79, gi: None },
        Event::GpuLost { gpu: 2, from: Seconds::new(xid_s + 2), to: None },
    ];
    node
}

fn said(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let output = stage.service.cli(args).expect("the command runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A tenant's total, and its credits in words with what each posts.
fn statement(bill: &Value, tenant: &str) -> (f64, Vec<(String, String)>) {
    let statements = bill["statements"].as_array().expect("statements");
    let statement = statements.iter().find(|s| s["tenant"]["id"] == tenant).expect("a statement");
    let charges = statement["charges"].as_array().expect("charges").iter();
    let credits = charges.filter(|c| c["kind"] == "credit").map(|c| {
        let text = |key: &str| c[key].as_str().expect("a text").to_owned();
        (text("what"), text("amount"))
    });
    (decimal(&statement["totals"]["amount"]), credits.collect())
}

#[test]
fn work_lost_with_a_card_is_proposed_and_credited_once_when_approved() {
    let (start_ms, month) = start_and_month();
    let made = batches(&node_that_loses_cards(start_ms), 5, Cadence::DEFAULT, 1).expect("the node runs");
    let stage = Stage::with_prices(TENANTS, &format!("{PRICES}{RULE}")).expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    assert_eq!(made[0].cluster, CLUSTER);
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let before = stage.bill(&month).expect("a bill");

    let (status, text) = said(&stage, &["adjust", "propose", "--period", &month]);
    assert_eq!(status, Some(0), "{text}");
    let proposals: Vec<&str> = text.lines().filter(|line| line.contains("proposed")).collect();
    let [xid, proposal] = &proposals[..] else { panic!("two of three users lost work: {text}") };
    assert!(xid.contains("three") && xid.contains("0.75 GPU-h") && text.contains("XID 79"), "{text}");
    // Two hours of what was held for three and a half, at 3.60.
    for expected in ["two", "n1", "GPU lost", "3.60", "-7.20"] {
        assert!(proposal.contains(expected), "{expected} in {text}");
    }
    let (before_unit, _) = proposal.split_once(" GPU-h").expect("a quantity");
    let hours: f64 = before_unit.rsplit(' ').next().and_then(|h| h.parse().ok()).expect("a number");
    assert!((hours - 2.0).abs() < 1e-8, "the cap, to the last digit's rounding: {text}");
    let id = proposal.split_whitespace().next().expect("an id");
    assert_eq!(stage.bill(&month).expect("a bill"), before, "a proposal posts nothing");
    assert_eq!(said(&stage, &["adjust", "list", "--period", &month]).1, "");

    let approve = |what: &[&str]| {
        let with = ["adjust", "approve", "--period", &month, "--author", "ada", "--reason", "ticket 7"];
        said(&stage, &[&with[..], what].concat())
    };
    let (status, text) = approve(&["000000000000"]);
    assert_eq!((status, text.contains("is no proposal of")), (Some(2), true), "{text}");
    let is_posted = format!("{id} is posted to {month}");
    let (status, text) = approve(&[id]);
    assert_eq!((status, text.contains(&format!("{is_posted}\n"))), (Some(0), true), "{text}");
    let after = stage.bill(&month).expect("a bill");
    let ((total, none), (credited, credits)) = (statement(&before, "two"), statement(&after, "two"));
    assert!(none.is_empty());
    let [(what, amount)] = &credits[..] else { panic!("one credit: {credits:?}") };
    assert!(what.starts_with("GPU lost, ") && what.contains("user 2002"), "{what}");
    assert!(what.ends_with("capped at 2 h (approved by ada: ticket 7)"), "{what}");
    assert_eq!(amount, "-7.20");
    assert!((total - credited - 7.20).abs() < 1e-9, "{total} {credited}");
    assert_eq!(statement(&after, "one"), statement(&before, "one"));
    assert_eq!(after["fleet"]["adds_up"], true);
    assert_eq!(after["fleet"]["amount"], before["fleet"]["amount"], "the platform has the other side");
    let (_, text) = said(&stage, &["report", "--period", &month, "--tenant", "two"]);
    assert!(text.contains("K1 ") && text.contains("GPU lost"), "{text}");

    let (status, text) = approve(&[id]);
    assert_eq!((status, text.contains(&format!("{is_posted} already"))), (Some(0), true), "{text}");
    let (_, text) = said(&stage, &["adjust", "propose", "--period", &month]);
    assert!(text.contains(&format!("posted to {month}")), "{text}");
    assert_eq!(stage.bill(&month).expect("a bill"), after, "approved twice posts once");

    // All that is left, and then nothing is.
    for already in [1, 2] {
        let (status, text) = approve(&["--all"]);
        assert_eq!((status, text.matches(" already").count()), (Some(0), already), "{text}");
    }
    let all = stage.bill(&month).expect("a bill");
    let (_, credits) = statement(&all, "three");
    let [(what, amount)] = &credits[..] else { panic!("one credit: {credits:?}") };
    assert!(what.starts_with("XID 79, ") && (-2.72..-2.68).contains(&amount.parse().expect("a number")));
    assert_eq!(statement(&all, "two"), statement(&after, "two"));
}
