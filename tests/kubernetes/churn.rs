//! Ten thousand pods come and go: what is kept stays bounded.

use super::stories::pod;
use super::{GPU, witness};
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::eventually;
use harness::kubernetes::kubelet::{Knowledge, Kubelet};

const PODS_TOTAL: u32 = 10_000;

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

#[test]
fn ten_thousand_pods_through_one_node_leave_memory_bounded() {
    let dir = tempfile::tempdir().expect("folder");
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    let (witness, _running) = witness(dir.path(), Some(&api), |_| {});
    eventually("the first answer", || (witness.board.current().known_until_ms > 0).then_some(()));
    let mut before = 0;
    for n in 0..PODS_TOTAL {
        let name = format!("job-{n}");
        knowledge.give(&name, "main", "nvidia.com/gpu", &[GPU.into()]);
        api.put(PODS, pod(&name));
        api.delete(PODS, &name);
        knowledge.take(&name);
        api.compact(5_000);
        if n == PODS_TOTAL / 4 {
            before = resident();
        }
    }
    let last = "last";
    knowledge.give(last, "main", "nvidia.com/gpu", &[GPU.into()]);
    api.put(PODS, pod(last));
    let held = eventually("the last pod", || {
        let said = witness.board.current();
        said.held
            .iter()
            .any(|held| held.to_ms.is_none() && held.owner.attributes["pod"] == last)
            .then_some(said)
    });
    assert!(held.held.len() <= 4_200, "{} holds are kept", held.held.len());
    assert_eq!(held.owners.len(), 2, "the pod and its container: nobody who is gone");
    assert_eq!(witness.health.counts().pods, 1);
    let grown = resident().saturating_sub(before);
    assert!(grown < 24 << 20, "{} MiB more than after a quarter of them", grown >> 20);
}
