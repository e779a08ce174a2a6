//! What the kernel says of NUMA nodes, as text: which have no processors, and what a control group has on each.

use std::collections::BTreeSet;
use std::path::Path;

/// NUMA nodes that a machine may have.
const NODES_MAX: usize = 1024;

/// The nodes without processors below `/sys/devices/system/node`: memory that hangs on a link rather than on a socket.
pub fn far_nodes(sysfs: &Path) -> BTreeSet<u32> {
    let Ok(folder) = std::fs::read_dir(sysfs.join("devices/system/node")) else { return BTreeSet::new() };
    let far = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let node = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let processors = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
        processors.trim().is_empty().then_some(node)
    };
    folder.take(NODES_MAX).filter_map(far).collect()
}

/// Bytes on near and far nodes by a `memory.numa_stat`: anonymous memory and page cache, which hold the rest of its lines.
pub fn held(numa_stat: &str, far: &BTreeSet<u32>) -> Option<(u64, u64)> {
    let (mut near_bytes, mut far_bytes, mut found) = (0u64, 0u64, false);
    for line in numa_stat.lines() {
        let mut words = line.split_whitespace();
        if !matches!(words.next(), Some("anon" | "file")) {
            continue;
        }
        found = true;
        for (node, bytes) in words.filter_map(|word| word.strip_prefix('N')?.split_once('=')) {
            let (Ok(node), Ok(bytes)) = (node.parse::<u32>(), bytes.parse::<u64>()) else { return None };
            let sum = if far.contains(&node) { &mut far_bytes } else { &mut near_bytes };
            *sum = sum.saturating_add(bytes);
        }
    }
    found.then_some((near_bytes, far_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_and_cache_are_summed_by_tier_and_their_parts_are_not_counted_again() {
        let stat = "anon N0=100 N1=20 N2=3\nfile N0=1000 N2=30\nkernel_stack N0=7\nshmem N0=1000 N2=30\n\
                    inactive_anon N0=100\n";
        assert_eq!(held(stat, &[2].into()), Some((1120, 33)));
        assert_eq!(held("anon N0=x\n", &[2].into()), None);
        assert_eq!(held("", &[2].into()), None, "nothing said isn't nothing held");
    }

    #[test]
    fn a_node_without_processors_is_far() {
        let sysfs = tempfile::tempdir().expect("a folder");
        for (node, cpulist) in [("node0", "0-31\n"), ("node1", "32-63\n"), ("node2", "\n")] {
            let folder = sysfs.path().join("devices/system/node").join(node);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("cpulist"), cpulist).expect("a file");
        }
        std::fs::write(sysfs.path().join("devices/system/node/online"), "0-2\n").expect("a file");
        assert_eq!(far_nodes(sysfs.path()), [2].into());
        assert!(far_nodes(&sysfs.path().join("none")).is_empty());
    }
}
