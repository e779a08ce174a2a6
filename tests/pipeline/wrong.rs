//! Wrong input at the command line: a message that names the thing, the place and the remedy, and the exit code that
//! scripts can rely on: 1 a finding, 2 wrong use, 3 can't tell.

use crate::stage::{Stage, batches, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use simulator::library::built;
use simulator::node::Cadence;
use std::process::{Command, Output};

fn says(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} is missing from: {stderr}");
    }
}

#[test]
fn questions_without_an_answer_say_why_and_the_other_statements_are_written_whole() {
    let (start_ms, period) = recent(4);
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus = vec![Gpu::new("h100"), Gpu::new("l40s")];
    node.processes.push(Process::new(1, 0).uid(2001).busy(10.0));
    node.processes.push(Process::new(2, 1).uid(2002).busy(10.0));
    let made = batches(&node, 2, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let cli = |args: &[&str]| stage.service.cli(args).expect("the program starts");

    says(&cli(&["report", "--period", &period, "--tenant", "nobody"]), 2, &["nobody", "one"]);
    says(&cli(&["report", "--period", "2026-13"]), 2, &["2026-13"]);
    says(&cli(&["report", "--period", "2001-01"]), 3, &["2001-01", "period list"]);
    says(&cli(&["explain", "ONE-2026-09-L99999"]), 2, &["L99999"]);
    says(&cli(&["report"]), 2, &["--period"]);

    // The L40S has no price: its line keeps its quantity, says so, and the other tenant's statement is whole.
    let unpriced = cli(&["report", "--period", &period, "--tenant", "two"]);
    says(&unpriced, 1, &[]);
    let text = String::from_utf8_lossy(&unpriced.stdout).to_string();
    assert!(text.contains("unpriced") && text.contains("2.000000000"), "{text}");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("UTF-8");
    says(&cli(&["report", "--period", &period, "--output", path]), 1, &[]);
    let whole = std::fs::read_dir(dir.path())
        .expect("the directory is there")
        .map(|e| std::fs::read_to_string(e.expect("an entry").path()).expect("readable"))
        .find(|t| t.contains("7.20"));
    assert!(whole.is_some(), "the priced statement of 2 h x 3.60 was not written whole");
}

#[test]
fn a_configuration_that_is_wrong_is_refused_with_file_key_and_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("slicemeter.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).expect("written");
        Command::new(built("slicemeter").expect("built"))
            .args(["check-config", "--config"])
            .arg(&file)
            .output()
            .expect("the program starts")
    };
    says(
        &check("billing_zone = \"Europe/Berlin\"\ncurrency = \"EUR\"\ncolour = \"red\"\n"),
        2,
        &["slicemeter.toml", "colour"],
    );
    says(&check("currency = \"EUR\"\n"), 2, &["slicemeter.toml", "billing_zone"]);
    says(&check("billing_zone = \"Berlin\"\ncurrency = \"EUR\"\n"), 2, &["Berlin"]);
    std::fs::remove_file(&file).expect("removed");
    let missing = Command::new(built("slicemeter").expect("built"))
        .args(["check-config", "--config"])
        .arg(&file)
        .output()
        .expect("the program starts");
    says(&missing, 2, &["slicemeter.toml"]);
}
