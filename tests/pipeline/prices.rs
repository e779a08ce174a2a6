//! Prices of time that is metered, edited while the service runs and while it doesn't: taken with a reason, else not.

use crate::stage::{PRICES, Stage, batches, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use serde_json::Value;
use simulator::http;
use simulator::node::Cadence;
use std::time::{Duration, Instant};

fn user_of_one_gpu(start_ms: i64) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus.push(Gpu::new("h100"));
    node.processes.push(Process::new(1, 0).uid(2001).busy(50.0).memory_mib(100.0));
    node
}

/// Polls until `is` says so.
fn wait(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < deadline, "not within two minutes: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_price_of_metered_time_is_edited_with_a_reason_or_not_at_all() {
    let (start_ms, period) = recent(4);
    let made = batches(&user_of_one_gpu(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let mut stage = Stage::new().expect("the service starts");
    let operator = stage.service.token(&["--role", "operator"]).expect("a token");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let url = format!("{}/api/v1/statements", stage.service.url());
    let amount = || {
        let text = http::get(&format!("{url}?period={period}"), Some(&operator)).expect("answered");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        list["statements"][0]["amount"].as_str().expect("a decimal").to_owned()
    };
    assert_eq!(amount(), "7.20");

    // Twice as dear, backwards, and nobody says why: the service keeps what it had, and a command refuses.
    let dearer = PRICES.replace("3.60", "7.20");
    stage.write_prices(&dearer);
    let failed = |value: &str| {
        let metrics = http::get(&format!("{}/metrics", stage.service.url()), None).expect("metrics");
        metrics.contains(&format!("slicemeter_config_load_failed{{file=\"prices.toml\"}} {value}\n"))
    };
    wait("the edit is refused and counted", || failed("1"));
    assert_eq!(amount(), "7.20");
    let refused = stage.service.cli(&["report", "--period", &period]).expect("the command runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for part in ["prices.toml", "\"NVIDIA H100*\"", "3.60", "7.20", "[[change]] with entry = \"h100\""] {
        assert!(said.contains(part), "{said} lacks {part}");
    }
    assert!(stage.service.log().contains("[[change]]"));

    // With the reason it is another version, and whoever opens a line reads why.
    let why = "[[change]]\nentry = \"h100\"\nreason = \"typed 3.60 for 7.20\"\n";
    let explained = format!("{dearer}{why}");
    stage.write_prices(&explained);
    wait("the edit is in force", || amount() == "14.40");
    let bill = stage.bill(&period).expect("a bill");
    let number = bill["statements"][0]["number"].as_str().expect("a number");
    let text = stage.service.cli_ok(&["explain", &format!("{number}-L1")]).expect("opened");
    assert!(text.contains("changed for the past: typed 3.60 for 7.20"), "{text}");
    let version = |bill: &Value| bill["statements"][0]["context"]["prices"]["version"].as_u64();
    assert_eq!(version(&bill), Some(2), "what was refused is no version");

    // An edit while nothing runs is compared with what ran last; the old reason is no reason for it.
    stage.service.stop().expect("stopped");
    stage.write_prices(&explained.replace("7.20\"\nfrom", "1.80\"\nfrom"));
    assert!(stage.service.restart().is_err(), "the service starts with a rewritten past");
    let why = why.replace("typed 3.60 for 7.20", "agreed in May");
    stage.write_prices(&format!("{}{why}", explained.replace("7.20\"\nfrom", "1.80\"\nfrom")));
    stage.service.restart().expect("the service starts");
    wait("the prices are in force", || stage.bill(&period).is_ok_and(|bill| version(&bill) == Some(3)));
    let bill = stage.bill(&period).expect("a bill");
    assert_eq!(bill["statements"][0]["totals"]["amount"], "3.60");
}
