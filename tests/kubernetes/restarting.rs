//! What happened while no collector ran: pods that ended meanwhile held their devices all the same, and nobody gets free
//! GPUs by stopping the collector.

use super::stories::{completed, pod};
use super::{GPU, MIG, says};
use collector::clock::{Clock, ManualClock};
use collector::kubernetes::kept::Place;
use collector::kubernetes::{KubernetesConfig, Running, Witness, start};
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::eventually;
use harness::kubernetes::kubelet::{Knowledge, Kubelet};
use schema::owner::key;
use std::path::Path;
use std::sync::Arc;

/// 2026-09-01T00:00:00Z, when pods of these stories start.
const T0: i64 = 1_788_220_800_000;

const OTHER_GPU: &str = "GPU-cccccccc-3e4b-5a69-7788-99aabbccddee";

/// A collector's witness at an instant, which keeps its holds in `dir`.
fn collector(dir: &Path, api: Option<&ApiServer>, at_ms: i64, boot_id: &str) -> (Witness, Running) {
    let config = KubernetesConfig {
        socket: dir.join("kubelet.sock"),
        poll_seconds: 1,
        kept: Some(Place { directory: dir.to_path_buf(), boot_id: boot_id.into() }),
        ..KubernetesConfig::default()
    };
    let (witness, clock) = (Witness::default(), ManualClock::at(at_ms));
    let clock = Arc::new(move || clock.wall_ms()) as _;
    let running = start(config, "n1", api.map(ApiServer::url), &witness, &clock).expect("starts");
    (witness, running)
}

/// Three pods are held for a minute and the collector stops; the first then completes, the second is deleted.
fn two_of_three_end_unseen(dir: &Path, knowledge: &Knowledge, api: &ApiServer) {
    for (name, device) in [("done", GPU), ("gone", MIG), ("stays", OTHER_GPU)] {
        knowledge.give(name, "main", "nvidia.com/gpu", &[device.into()]);
        api.put(PODS, pod(name));
    }
    let (witness, running) = collector(dir, Some(api), T0 + 60_000, "boot-1");
    // The kubelet's list may come before the API server's; what is held is whole with both.
    eventually("their UIDs", || {
        let said = witness.board.current();
        let named = said.held.iter().filter(|held| held.owner.attributes.contains_key(key::POD_UID));
        (named.count() == 3).then_some(())
    });
    says(&witness, &["done/main 1", "gone/main 1", "stays/main 1"]);
    drop(running);
    api.put(PODS, completed("done"));
    api.delete(PODS, "gone");
    knowledge.take("done");
    knowledge.take("gone");
}

#[test]
fn a_pod_that_ended_while_no_collector_ran_held_up_to_its_end_or_to_when_it_was_last_seen() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    two_of_three_end_unseen(dir.path(), &knowledge, &api);
    let (witness, running) = collector(dir.path(), Some(&api), T0 + 3_600_000, "boot-1");
    says(&witness, &["done/main 1 for 1800 s", "gone/main 1 for 60 s", "stays/main 1"]);
    let held = witness.board.current();
    assert!(held.held.iter().all(|held| held.from_ms == T0), "each from its own beginning, once");
    assert_eq!(witness.health.counts().not_kept, 0);
    drop(running);
    // The next collector has no more to say of what this one has told.
    let (witness, _running) = collector(dir.path(), Some(&api), T0 + 7_200_000, "boot-1");
    says(&witness, &["stays/main 1"]);
}

#[test]
fn what_ran_before_a_reboot_is_over() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    two_of_three_end_unseen(dir.path(), &knowledge, &api);
    let (witness, _running) = collector(dir.path(), Some(&api), T0 + 3_600_000, "boot-2");
    says(&witness, &["stays/main 1"]);
}

#[test]
fn without_an_api_server_a_pod_that_is_no_longer_listed_held_up_to_the_last_list() {
    let dir = tempfile::tempdir().expect("folder");
    let knowledge = Knowledge::default();
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.give("gone", "main", "nvidia.com/gpu", &[GPU.into()]);
    knowledge.give("stays", "main", "nvidia.com/gpu", &[OTHER_GPU.into()]);
    let (witness, running) = collector(dir.path(), None, T0, "boot-1");
    says(&witness, &["gone/main 1", "stays/main 1"]);
    drop(running);
    // It lists them for five minutes more, then no collector runs for as long.
    let (witness, running) = collector(dir.path(), None, T0 + 300_000, "boot-1");
    says(&witness, &["gone/main 1", "stays/main 1"]);
    drop(running);
    knowledge.take("gone");
    let (witness, _running) = collector(dir.path(), None, T0 + 600_000, "boot-1");
    says(&witness, &["gone/main 1 for 300 s", "stays/main 1"]);
}
