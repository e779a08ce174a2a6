//! One figure wherever it is asked for: the days of a span, the span, and the service's answer about it.

use crate::stage::{HOUR_MS, Stage, batches};
use chrono::{DateTime, Days, NaiveDate};
use chrono_tz::America::Sao_Paulo;
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use serde_json::Value;
use simulator::http;
use simulator::node::Cadence;
use std::collections::BTreeMap;

/// Longer than a day, so that a local midnight lies inside.
const HOURS: i64 = 26;

/// GPU-hours in 1e-9 and money in cents, by tenant.
type Figures = BTreeMap<String, (i64, i64)>;

fn integer(decimal: &Value) -> i64 {
    decimal.as_str().expect("decimals are strings").replace('.', "").parse().expect("digits")
}

fn reported(stage: &Stage, period: &str) -> Figures {
    let bill = stage.bill(period).expect("a bill");
    assert_eq!(bill["fleet"]["adds_up"], true, "{period}");
    let statements = bill["statements"].as_array().expect("statements");
    let totals = |s: &Value| (integer(&s["totals"]["gpu_hours"]), integer(&s["totals"]["amount"]));
    statements.iter().map(|s| (s["tenant"]["id"].as_str().expect("an id").to_owned(), totals(s))).collect()
}

fn served(stage: &Stage, token: &str, period: &str) -> Figures {
    let url = format!("{}/api/v1/statements?period={period}", stage.service.url());
    let list: Value = serde_json::from_str(&http::get(&url, Some(token)).expect("answered")).expect("JSON");
    let statement = |s: &Value| {
        (s["tenant"].as_str().expect("an id").to_owned(), (integer(&s["gpu_hours"]), integer(&s["amount"])))
    };
    list["statements"].as_array().expect("a list").iter().map(statement).collect()
}

#[test]
fn the_days_of_a_span_sum_to_it_and_the_service_says_the_same() {
    let start_ms = chrono::Utc::now().timestamp_millis() / HOUR_MS * HOUR_MS - (HOURS + 1) * HOUR_MS;
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus = vec![Gpu::new("h100"), Gpu::new("h100")];
    // Quarters of an hour cost 0.90, so that no day is rounded.
    node.processes.push(Process::new(1, 0).uid(2001).busy(50.0));
    node.processes.push(Process::new(2, 1).alive(0, 20 * 3600 + 900).uid(2002).busy(50.0));
    let made = batches(&node, HOURS, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");

    let day = |at_ms: i64| -> NaiveDate {
        DateTime::from_timestamp_millis(at_ms).expect("a near instant").with_timezone(&Sao_Paulo).date_naive()
    };
    let (first, end) = (day(start_ms), day(start_ms + HOURS * HOUR_MS - 1) + Days::new(1));
    let span = format!("{first}..{end}");
    let whole = reported(&stage, &span);
    assert_eq!(whole["one"], (HOURS * 1_000_000_000, HOURS * 360));
    let mut days = Figures::new();
    for date in first.iter_days().take_while(|date| *date < end) {
        for (tenant, (hours, cents)) in reported(&stage, &format!("{date}..{}", date + Days::new(1))) {
            let sum = days.entry(tenant).or_default();
            *sum = (sum.0 + hours, sum.1 + cents);
        }
    }
    assert!((end - first).num_days() >= 2);
    assert_eq!(days, whole);
    let token = stage.service.token(&["--role", "operator"]).expect("a token");
    assert_eq!(served(&stage, &token, &span), whole);
}
