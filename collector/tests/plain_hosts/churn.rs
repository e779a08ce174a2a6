//! Ten thousand containers come and go: what is kept stays bounded, and each was named.

use super::daemon::{Daemon, Kind, Knowledge};
use super::naming::Host;
use super::{eventually, id};
use collector::owner::{OwnerLookup, OwnerRecord, ProcessOwner};
use schema::owner::{Owner, OwnerKind, key};
use std::time::Duration;

const CONTAINERS: u32 = 10_000;
/// Those that live at one time.
const WAVE: u32 = 500;

/// Every PID is a container of its own.
struct OnePerPid;

impl OwnerLookup for OnePerPid {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let attributes = [(key::CONTAINER_ID.to_owned(), id(&pid.to_string()))].into();
        let owner =
            OwnerRecord::new(Owner { kind: OwnerKind::Container, attributes, evidence: String::new() });
        ProcessOwner { owner, start_ticks: 1, started_ms: None, mps_server: false }
    }
    fn keep_only(&mut self, _: &[u32]) {}
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

#[test]
fn ten_thousand_containers_through_one_node_leave_memory_bounded() {
    let host = Host::new(Duration::from_secs(30), 600_000);
    let knowledge = Knowledge::default();
    let _docker = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &knowledge);
    let register = Some(host.witness.register().clone());
    let mut owners =
        collector::containers::Noticed::new(OnePerPid, register, false, std::sync::Arc::new(super::now_ms));
    let mut before = 0;
    for wave in 0..CONTAINERS / WAVE {
        let pids: Vec<u32> = (wave * WAVE..(wave + 1) * WAVE).collect();
        for pid in &pids {
            knowledge.run(&id(&pid.to_string()), &format!("job-{pid}"), "t", &[("team", "vision")]);
            owners.lookup(*pid);
        }
        eventually("the wave is named", || {
            let said = host.witness.register().board().current();
            pids.iter()
                .all(|pid| said.owners.contains_key(&(OwnerKind::Container, id(&pid.to_string()))))
                .then_some(())
        });
        pids.iter().for_each(|pid| knowledge.remove(&id(&pid.to_string())));
        if wave == CONTAINERS / WAVE / 2 {
            before = resident();
        }
    }
    let standing = host.witness.register().refresh(super::now_ms());
    assert_eq!(standing.known, 4096, "{standing:?}");
    assert_eq!(standing.dropped, u64::from(CONTAINERS) - 4096, "what was forgotten is counted");
    assert_eq!(host.witness.register().board().current().owners.len(), 4096);
    let grown = resident().saturating_sub(before);
    assert!(grown < 24 << 20, "{} MiB more than after half of them", grown >> 20);
}
