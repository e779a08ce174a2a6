//! Whether the collector stands where it can see whose processes are: a collector in the wrong namespace would find an
//! owner for none of them, and every hour would be unattributed without a word.

use std::collections::HashMap;

/// Number of the kernel's first cgroup namespace: `PROC_CGROUP_INIT_INO`, the same on every Linux.
const FIRST_CGROUP_NAMESPACE: &str = "cgroup:[4026531835]";

/// What a look-up of a process that the driver lists came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It isn't in procfs.
    Missing,
    /// It is, but its cgroup is hidden.
    Hidden,
    /// It is there with its cgroup.
    Plain,
}

/// Where the collector wrongly stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongPlace {
    /// In a PID namespace of its own.
    #[error(
        "no process that the driver lists is in procfs: give the collector the host's PID namespace (hostPID: true, \
         docker run --pid=host), or the host's /proc with --procfs; until then usage is unattributed"
    )]
    NoHostPids,
    /// In a cgroup namespace that hides where processes are.
    #[error(
        "the cgroup of every process that the driver lists is hidden: give the collector the host's cgroup namespace \
         (docker run --cgroupns=host), or the host's /proc with --procfs; until then usage is unattributed"
    )]
    HiddenCgroups,
}

/// Process lists in a row that must say the same: one process that ends while it is listed says nothing.
const LISTS: u32 = 2;

/// What look-ups came to since the last lists.
#[derive(Debug, Default)]
pub(super) struct Standpoint {
    seen: HashMap<u32, Seen>,
    suspicion: Option<(WrongPlace, u32)>,
}

impl Standpoint {
    /// Notes a look-up.
    pub fn note(&mut self, pid: u32, seen: Seen) {
        self.seen.insert(pid, seen);
    }

    /// A list is complete: the look-ups of processes that aren't in it are forgotten.
    pub fn listed(&mut self, pids: &[u32]) {
        self.seen.retain(|pid, _| pids.contains(pid));
        let all = |what: Seen| !self.seen.is_empty() && self.seen.values().all(|seen| *seen == what);
        let now = match () {
            () if all(Seen::Missing) => Some(WrongPlace::NoHostPids),
            () if all(Seen::Hidden) => Some(WrongPlace::HiddenCgroups),
            () => None,
        };
        let before = self.suspicion.filter(|(place, _)| Some(*place) == now).map_or(0, |(_, lists)| lists);
        self.suspicion = now.map(|place| (place, before.saturating_add(1)));
    }

    /// Where the collector wrongly stands, if lists in a row say so.
    pub fn wrong_place(&self) -> Option<WrongPlace> {
        self.suspicion.filter(|(_, lists)| *lists >= LISTS).map(|(place, _)| place)
    }
}

/// Whether a cgroup file hides where the process is: read from within another cgroup namespace (`own` is where the
/// link of our own leads; empty where it can't be read), and naming nothing but the way up.
pub(super) fn is_hidden(own: &str, file: &str) -> bool {
    let is_inside = !own.is_empty() && own != FIRST_CGROUP_NAMESPACE;
    let path = |line: &str| line.splitn(3, ':').nth(2).unwrap_or_default().to_owned();
    is_inside && file.lines().all(|line| path(line).split('/').all(|part| part.is_empty() || part == ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lists: &[&[(u32, Seen)]]) -> Option<WrongPlace> {
        let mut standpoint = Standpoint::default();
        for list in lists {
            list.iter().for_each(|(pid, seen)| standpoint.note(*pid, *seen));
            let pids: Vec<u32> = list.iter().map(|(pid, _)| *pid).collect();
            standpoint.listed(&pids);
        }
        standpoint.wrong_place()
    }

    #[test]
    fn a_collector_that_can_see_no_process_twice_in_a_row_stands_wrong() {
        use Seen::{Hidden, Missing, Plain};
        assert_eq!(after(&[&[(1, Missing)], &[(1, Missing), (2, Missing)]]), Some(WrongPlace::NoHostPids));
        assert_eq!(after(&[&[(1, Hidden)], &[(1, Hidden)]]), Some(WrongPlace::HiddenCgroups));
        assert_eq!(after(&[&[(1, Missing)]]), None, "one that ends while it is listed says nothing");
        assert_eq!(after(&[&[(1, Missing)], &[(1, Missing), (2, Plain)]]), None);
        assert_eq!(
            after(&[&[(1, Missing)], &[(1, Missing)], &[(2, Plain)]]),
            None,
            "it was moved to the right place"
        );
        assert_eq!(after(&[&[(1, Missing)], &[(1, Missing)], &[]]), None, "nobody is there to be seen");
    }

    #[test]
    fn only_from_within_a_namespace_does_a_root_cgroup_hide_anything() {
        let inside = "cgroup:[4026532501]";
        assert!(is_hidden(inside, "0::/\n"));
        assert!(is_hidden(inside, "0::/../../..\n"));
        assert!(!is_hidden(inside, "0::/../../kubepods.slice/x\n"));
        assert!(!is_hidden(FIRST_CGROUP_NAMESPACE, "0::/\n"), "on the host a root cgroup is one");
        assert!(!is_hidden("", "0::/\n"));
    }
}
