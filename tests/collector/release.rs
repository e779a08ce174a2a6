//! Letting go of NVML on request, so that a GPU can be reset or MIG changed, and taking it up again.

use crate::rig::{Rig, Setup, gaps, node, uuid};
use schema::wire::Reason;
use std::process::Command;

#[test]
fn a_release_leaves_no_handle_and_is_a_gap_with_its_reason() {
    let mut rig = Rig::running(&node("h100", 2), Setup::default());
    rig.until_ready();
    assert!(!rig.truth().exists(), "the library still has a user");
    let released = rig.cli(&["release", "--seconds", "600"]);
    assert_eq!(String::from_utf8_lossy(&released.stdout), "released\n", "{released:?}");
    // The simulated library writes this file when its last user has shut it down.
    assert!(rig.truth().exists(), "NVML was shut down before the command came back");
    rig.until_unready("Released");
    rig.until_at_least("slicemeter_collector_device_failing", &[&uuid(0), "Released"], 1.0);
    assert_eq!(rig.metrics().sample("slicemeter_collector_visible_gpus", &[]), Some(0.0));
    assert_eq!(rig.get("/healthz").map(|answer| answer.status), Some(200));
    let resumed = rig.cli(&["release", "--resume"]);
    assert_eq!(String::from_utf8_lossy(&resumed.stdout), "taken up again\n", "{resumed:?}");
    rig.until_ready();
    assert!(rig.stop().success());
    let batches = rig.spooled();
    for index in 0..2 {
        assert!(gaps(&batches, &uuid(index), Reason::Released).1 > 0, "{batches:?}");
    }
}

#[test]
fn a_release_ends_by_itself() {
    let rig = Rig::running(&node("h100", 1), Setup::default());
    rig.until_ready();
    assert!(rig.cli(&["release", "--seconds", "2"]).status.success());
    rig.until_unready("Released");
    rig.until_ready();
}

#[test]
fn a_signal_releases_and_another_takes_up_again() {
    let rig = Rig::running(&node("h100", 1), Setup::default());
    rig.until_ready();
    signal(&rig, "-USR1");
    rig.until_unready("Released");
    rig.until("shut down", |rig| rig.truth().exists().then_some(()));
    signal(&rig, "-USR2");
    rig.until_ready();
}

fn signal(rig: &Rig, name: &str) {
    let status = Command::new("kill").args([name, &rig.pid().to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn where_no_collector_runs_a_release_cannot_tell() {
    let rig = Rig::new(&node("h100", 1), Setup::default());
    let asked = rig.cli(&["release"]);
    assert_eq!(asked.status.code(), Some(3));
    let text = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(text.contains(&*rig.state().to_string_lossy()) && text.contains("--directory"), "{text}");
    assert_eq!(rig.cli(&["release", "--seconds", "0"]).status.code(), Some(2));
}
