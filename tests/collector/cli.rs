//! The other subcommands, bad input, and exit codes: 0 ok, 2 wrong use, 3 cannot tell.

use crate::rig::{Rig, Setup, node};
use collector::metrics::REVISION;
use nvidia_ml::scenario::Process;
use simulator::library::built;
use std::path::Path;
use std::process::{Command, Output};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn binaries_are_of_the_revision_that_the_tests_are_of() {
    for name in ["slicemeter-collector", "slicemeter"] {
        let path = built(name).expect("it is built");
        let output = Command::new(path).arg("--version").output().expect("it starts");
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let wanted = format!("({REVISION})");
        assert!(version.trim().ends_with(&wanted), "{name} is stale: `cargo build --workspace`: {version}");
    }
}

#[test]
fn one_reading_is_shown_to_people_and_scripts() {
    let mut scenario = node("h100", 2);
    scenario.processes.push(Process::new(4242, 1).uid(2001).busy(50.0).memory_mib(2048.0));
    let rig = Rig::new(&scenario, Setup::default());
    let shown = rig.cli(&["once"]);
    let page = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    assert!(page.contains("pid 4242") && page.contains("uid=2001") && page.contains("NVIDIA H100"), "{page}");
    let json = rig.cli(&["once", "--json"]);
    let reading: serde_json::Value = serde_json::from_slice(&json.stdout).expect("one JSON document");
    assert_eq!(reading["devices"].as_array().map(Vec::len), Some(2), "{reading}");
}

#[test]
fn readings_are_recorded_and_no_file_is_overwritten() {
    let rig = Rig::new(&node("h100", 2), Setup::default());
    let path = rig.file("readings.jsonl");
    let file = path.to_str().expect("a path in UTF-8");
    let arguments = ["record", "--output", file, "--readings", "3", "--every-ms", "300"];
    let recorded = rig.cli(&arguments);
    assert_eq!(recorded.status.code(), Some(0), "{recorded:?}");
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(&path)
        .expect("a file")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON document a line"))
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|reading| reading["devices"].as_array().map(Vec::len) == Some(2)), "{lines:?}");
    let again = rig.cli(&arguments);
    assert!(again.status.code() == Some(2) && text(&again).contains(file), "{again:?}");

    std::fs::remove_file(rig.library()).expect("removed");
    let other = rig.file("other.jsonl");
    let other = other.to_str().expect("a path in UTF-8");
    let unread = rig.cli(&["record", "--output", other, "--readings", "1"]);
    assert_eq!(unread.status.code(), Some(3), "{unread:?}");
}

#[test]
fn a_bad_configuration_is_refused_with_file_key_and_remedy() {
    let rig = Rig::new(&node("h100", 1), Setup::default());
    let good = rig.cli(&["check-config"]);
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    let sound = std::fs::read_to_string(rig.config()).expect("the configuration");
    let cases = [
        (sound.replace("gauges_ms", "gauge_ms"), "gauge_ms", "collector.example.toml"),
        (sound.replace("window_ms = 1000", "window_ms = 7000"), "sample.window_ms", "take 60000"),
        (sound.replace("processes_ms = 250", "processes_ms = 300"), "sample.processes_ms", "whole multiple"),
        (sound.replace("cluster = \"lab\"", "cluster = \"\""), "node.cluster", "name the cluster"),
    ];
    for (content, key, remedy) in cases {
        std::fs::write(rig.config(), &content).expect("written");
        for command in ["check-config", "run"] {
            check_refused(&rig, command, key, remedy);
        }
    }
    std::fs::remove_file(rig.config()).expect("removed");
    for command in ["check-config", "run", "once"] {
        check_refused(&rig, command, "can't be read", "--config");
    }
}

fn check_refused(rig: &Rig, command: &str, key: &str, remedy: &str) {
    let refused = rig.cli(&[command]);
    let text = text(&refused);
    assert_eq!(refused.status.code(), Some(2), "{command}: {text}");
    let file: &Path = &rig.config();
    for wanted in [&*file.to_string_lossy(), key, remedy] {
        assert!(text.contains(wanted), "{command}: {wanted:?} is not in: {text}");
    }
}

#[test]
fn what_contradicts_the_world_stops_the_start_with_its_key() {
    let rig = Rig::running(&node("h100", 1), Setup::default());
    let mut other = Rig::new(&node("h100", 1), Setup::default());
    std::fs::write(other.state(), "a file where a folder should be").expect("written");
    let refused = other.cli(&["run"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused).contains("spool.directory"), "{refused:?}");
    std::fs::remove_file(other.state()).expect("removed");
    let taken = std::fs::read_to_string(rig.config()).expect("the configuration");
    let listen = taken.lines().find(|line| line.starts_with("listen")).expect("a port").to_owned();
    let own = std::fs::read_to_string(other.config()).expect("the configuration");
    let same_port: Vec<&str> =
        own.lines().map(|line| if line.starts_with("listen") { &*listen } else { line }).collect();
    std::fs::write(other.config(), same_port.join("\n")).expect("written");
    let refused = other.cli(&["run"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused).contains("http.listen"), "{refused:?}");
    std::fs::write(other.config(), own).expect("written");
    other.start();
    assert!(other.stop().success());
}

#[test]
fn without_a_service_batches_stay_in_the_spool() {
    let port = harness::probe::free_port().expect("a port that nobody listens on");
    let server = Some(format!("http://127.0.0.1:{port}"));
    let mut rig = Rig::running(&node("h100", 1), Setup { server, ..Setup::default() });
    rig.until_ready();
    rig.until_at_least("slicemeter_collector_ship_failures_total", &[], 1.0);
    rig.until_at_least("slicemeter_collector_spool_bytes", &[], 1.0);
    assert_eq!(rig.metrics().sample("slicemeter_collector_shipped_batches_total", &[]), Some(0.0));
    assert_eq!(rig.get("/healthz").map(|answer| answer.status), Some(200));
    assert!(rig.log().contains("stay in the spool"), "{}", rig.log());
    assert!(rig.stop().success(), "a service that can't be reached is no reason to fail");
    assert!(!rig.spooled().is_empty());
}
