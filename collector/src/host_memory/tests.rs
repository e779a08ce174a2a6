//! A node with a CXL expander, as its files say.

use super::*;
use schema::owner::{Owner, OwnerKind};

const MIB: u64 = 1 << 20;

struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Self {
        let node = Self(tempfile::tempdir().expect("a folder"));
        node.write("sys/devices/system/node/node0/cpulist", "0-63\n");
        node.write("sys/devices/system/node/node1/cpulist", "\n");
        node
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        std::fs::create_dir_all(file.parent().expect("in a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }

    fn process(&self, pid: u32, group: &str) {
        self.write(&format!("proc/{pid}/cgroup"), &format!("0::/{group}\n"));
    }

    fn memory(&self, group: &str, near_mib: u64, far_mib: u64) {
        let stat = format!("anon N0={} N1={}\nfile N0=0 N1=0\n", near_mib * MIB, far_mib * MIB);
        self.write(&format!("sys/fs/cgroup/{group}/memory.numa_stat"), &stat);
    }

    fn open(&self) -> HostMemory {
        let at = |name| self.0.path().join(name);
        HostMemory::open(&at("sys"), &at("proc"), 10_000).expect("it has tiers")
    }
}

fn resident(pid: u32, uid: &str) -> Resident {
    let attributes = [("uid".to_owned(), uid.to_owned())].into();
    let owner = OwnerRecord::new(Owner { kind: OwnerKind::User, attributes, evidence: String::new() });
    Resident { pid, start_ticks: 1, owner }
}

/// Rows as `start..end near far` in seconds and MiB-seconds.
fn rows(memory: &mut HostMemory) -> Vec<String> {
    let mut closed = [crate::held::tests::minute(&[])];
    memory.attach(&mut closed);
    let shown = |(row, _): &(wire::HostMemory, Arc<OwnerRecord>)| {
        let mib_s = |byte_ms: u64| byte_ms / MIB / 1000;
        format!(
            "{}..{} {} {}",
            row.start_ms / 1000,
            row.end_ms / 1000,
            mib_s(row.near_byte_ms),
            mib_s(row.far_byte_ms)
        )
    };
    closed[0].host_memory.iter().map(shown).collect()
}

#[test]
fn what_a_workload_has_stands_until_the_next_reading_and_a_group_within_another_counts_once() {
    let node = Node::new();
    node.process(1, "job_7/step_0");
    node.process(2, "job_7/step_0/task_1");
    node.memory("job_7/step_0", 100, 10);
    node.memory("job_7/step_0/task_1", 60, 10);
    let mut memory = node.open();
    let both = || [resident(1, "1000"), resident(2, "1000")].into_iter();
    memory.observe(0, both());
    node.memory("job_7/step_0", 200, 0);
    memory.observe(10_000, both());
    memory.observe(12_000, both());
    memory.observe(20_000, std::iter::empty());
    memory.observe(30_000, std::iter::empty());
    assert_eq!(rows(&mut memory), ["0..20 3000 100"]);
    assert_eq!(rows(&mut memory), [""; 0], "said once");
}

#[test]
fn no_row_crosses_a_quarter_hour_and_none_bridges_a_gap() {
    let node = Node::new();
    node.process(1, "a");
    node.memory("a", 1, 1);
    let mut memory = node.open();
    let one = || std::iter::once(resident(1, "1000"));
    memory.observe(895_000, one());
    memory.observe(905_000, one());
    memory.observe(990_000, one());
    assert_eq!(rows(&mut memory), ["895..900 5 5", "900..905 5 5"]);
}

#[test]
fn a_group_that_can_not_be_read_is_unknown_not_nothing() {
    let node = Node::new();
    node.process(1, "../../elsewhere");
    node.process(2, "gone");
    let mut memory = node.open();
    for at_ms in [0, 10_000, 20_000] {
        memory.observe(at_ms, [resident(1, "1"), resident(2, "2")].into_iter());
    }
    assert_eq!(rows(&mut memory), [""; 0]);
}

#[test]
fn a_node_without_tiers_is_not_read_at_all() {
    let node = Node::new();
    node.write("sys/devices/system/node/node1/cpulist", "64-127\n");
    let at = |name| node.0.path().join(name);
    assert!(HostMemory::open(&at("sys"), &at("proc"), 10_000).is_none());
}
