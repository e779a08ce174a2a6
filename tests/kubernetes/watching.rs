//! The watch of the API server: events, bookmarks, broken connections, versions that are gone.

use super::stories::pod;
use super::{GPU, MIG, says, told, witness};
use collector::kubernetes::health::Source;
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::eventually;
use harness::kubernetes::kubelet::{Knowledge, Kubelet};
use serde_json::json;

fn lists(api: &ApiServer) -> usize {
    api.asked("limit=").iter().filter(|url| url.starts_with(PODS)).count()
}

#[test]
fn a_broken_watch_goes_on_where_it_was_without_a_new_list() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    knowledge.give("a", "main", "nvidia.com/gpu", &[GPU.into()]);
    knowledge.give("b", "main", "nvidia.com/gpu", &[MIG.into()]);
    api.put(PODS, pod("a"));
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    eventually("the first pod", || (witness.health.counts().pods == 1).then_some(()));
    api.put(PODS, pod("b"));
    eventually("the second pod", || (witness.health.counts().pods == 2).then_some(()));
    api.bookmark(PODS);
    api.cut();
    // Asked from the bookmark's version, an event that came meanwhile is told.
    api.delete(PODS, "b");
    eventually("the deletion", || (witness.health.counts().pods == 1).then_some(()));
    assert_eq!(lists(&api), 1);
    let held = told(&witness.board.current());
    assert!(held[0] == "a/main 1" && held[1].starts_with("b/main 1 for "), "{held:?}");
    assert!(witness.health.counts().errors.contains_key(&(Source::Pods, "disconnected")));
}

#[test]
fn a_version_that_is_gone_is_listed_anew_and_what_vanished_meanwhile_is_closed() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    for (name, device) in [("stays", GPU), ("goes", MIG)] {
        knowledge.give(name, "main", "nvidia.com/gpu", &[device.into()]);
        api.put(PODS, pod(name));
    }
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    says(&witness, &["goes/main 1", "stays/main 1"]);
    // It must have been seen for a while, or nothing was held: its end is when it was last known to live.
    eventually("a later list", || {
        let said = witness.board.current();
        said.held.iter().all(|held| held.from_ms < said.known_until_ms).then_some(())
    });
    api.lose(PODS, "goes");
    eventually("the new list", || (witness.health.counts().pods == 1).then_some(()));
    assert_eq!(witness.health.counts().errors.get(&(Source::Pods, "gone")), Some(&1));
    eventually("the end", || told(&witness.board.current())[0].starts_with("goes/main 1 for ").then_some(()));
    let end = || witness.board.current().held.iter().find_map(|held| held.to_ms).expect("ended");
    let ended = end();
    // The two are asked apart: the API server's word of an end can be ahead of the kubelet's list for a moment.
    eventually("a word that reaches the end", || {
        (ended <= witness.board.current().known_until_ms).then_some(())
    });
    assert_eq!(end(), ended, "an end that was told doesn't move");
}

#[test]
fn a_list_comes_in_pages() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    for n in 0..600 {
        api.put(PODS, pod(&format!("p{n}")));
    }
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    eventually("all pods", || (witness.health.counts().pods == 600).then_some(()));
    assert_eq!(lists(&api), 3);
}

#[test]
fn a_namespace_that_is_relabelled_is_another_owner_from_then_on() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let namespaces = "/api/v1/namespaces";
    let labelled =
        |centre: &str| json!({"metadata": {"name": "ns", "labels": {"centre": centre, "noise": "x"}}});
    api.put(namespaces, labelled("4711"));
    api.put(PODS, pod("p"));
    knowledge.give("p", "main", "nvidia.com/gpu", &[GPU.into()]);
    let (witness, _running) =
        witness(dir.path(), Some(&api), |config| config.namespace_labels = vec!["centre".into()]);
    let centres = || {
        let said = witness.board.current();
        let all = said
            .held
            .iter()
            .map(|held| (held.owner.attributes.get("namespace_label:centre").cloned(), held.to_ms.is_some()));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    };
    let open = |centre: &str| (Some(centre.to_owned()), false);
    eventually("the label", || (centres() == [open("4711")]).then_some(()));
    api.put(namespaces, labelled("4712"));
    eventually("the new label", || {
        (centres() == [(Some("4711".to_owned()), true), open("4712")]).then_some(())
    });
}
