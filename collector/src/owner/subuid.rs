//! Whose a user id of a user namespace is. Rootless containers run as ids that belong to nobody who logs in: the kernel's
//! map of the namespace says which ids those are on the host, and `/etc/subuid` whom they were given to.

use super::passwd::Passwd;
use std::path::PathBuf;
use std::time::SystemTime;

/// Holders of ranges that stand for a daemon of root's and not for a person: Docker's `userns-remap` and Podman's
/// `--userns=auto`.
const DAEMONS: [&str; 2] = ["dockremap", "containers"];

/// One line of `/etc/subuid`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Range {
    holder: String,
    first: u32,
    count: u32,
}

/// Whom a subordinate id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// This user.
    User(u32),
    /// A daemon's pool, or a name that has no id here: it says nothing about a person.
    Nobody,
}

/// Ranges of subordinate ids, read again when the file changes.
pub(super) struct SubUid {
    path: Option<PathBuf>,
    changed: Option<SystemTime>,
    ranges: Vec<Range>,
}

impl SubUid {
    /// From this file; without one no id is subordinate.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, changed: None, ranges: Vec::new() }
    }

    /// Whom the id was given to; `None` where it is nobody's subordinate id.
    pub fn holder(&mut self, uid: u32, passwd: &mut Passwd) -> Option<Holder> {
        let path = self.path.as_ref()?;
        let changed = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        if changed != self.changed {
            self.changed = changed;
            self.ranges = parse(&std::fs::read_to_string(path).unwrap_or_default());
        }
        let has = |range: &&Range| uid >= range.first && uid - range.first < range.count;
        let holder = &self.ranges.iter().find(has)?.holder;
        if DAEMONS.contains(&holder.as_str()) {
            return Some(Holder::Nobody);
        }
        let uid = holder.parse().ok().or_else(|| passwd.uid(holder));
        Some(uid.map_or(Holder::Nobody, Holder::User))
    }
}

fn parse(file: &str) -> Vec<Range> {
    let range = |line: &str| {
        let mut fields = line.trim().split(':');
        let holder =
            fields.next().filter(|holder| !holder.is_empty() && !holder.starts_with('#'))?.to_owned();
        let (first, count) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        fields.next().is_none().then_some(Range { holder, first, count })
    };
    file.lines().filter_map(range).collect()
}

/// The host's id of a user namespace's own root, from `/proc/PID/uid_map`; `None` for the host's own namespace, and
/// where the map can't be read.
pub(super) fn namespace_root(uid_map: &str) -> Option<u32> {
    let mut lines = uid_map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().map(|field| field.parse::<u32>().ok());
        Some((fields.next()??, fields.next()??, fields.next()??))
    });
    let first = lines.next()?;
    if first == (0, 0, u32::MAX) {
        return None;
    }
    let root = std::iter::once(first).chain(lines).find(|(inner, _, count)| *inner == 0 && *count > 0);
    Some(root.map_or(first.1, |(_, outer, _)| outer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespaces_root_is_read_from_its_map() {
        let cases = [
            ("         0          0 4294967295\n", None, "the host's own"),
            ("         0       1000          1\n         1     100000      65536\n", Some(1000), "rootless"),
            ("         0     100000      65536\n", Some(100_000), "remapped by a daemon, or LXC"),
            (
                "         0     100001       1000\n      1000       1000          1\n",
                Some(100_001),
                "keep-id",
            ),
            ("      1000       1000          1\n", Some(1000), "a namespace without a root"),
            ("", None, "not to be read"),
            ("0 x 1\n", None, "no map"),
        ];
        for (map, want, what) in cases {
            assert_eq!(namespace_root(map), want, "{what}");
        }
    }

    #[test]
    fn a_subordinate_id_is_its_holders_and_a_daemons_pool_is_nobodys() {
        let dir = tempfile::tempdir().expect("folder");
        let (subuid, passwd) = (dir.path().join("subuid"), dir.path().join("passwd"));
        std::fs::write(
            &subuid,
            "# comment\nada:100000:65536\n1001:165536:65536\ndockremap:300000:65536\ngone:400000:10\nbad:1\n",
        )
        .expect("file");
        std::fs::write(&passwd, "ada:x:1000:1000::/:/bin/sh\n").expect("file");
        let (mut subuid, mut passwd) = (SubUid::new(Some(subuid)), Passwd::new(Some(passwd)));
        let mut holder = |uid| subuid.holder(uid, &mut passwd);
        assert_eq!(holder(100_000), Some(Holder::User(1000)));
        assert_eq!(holder(165_535), Some(Holder::User(1000)));
        assert_eq!(holder(165_536), Some(Holder::User(1001)), "a line may name the id");
        assert_eq!(holder(300_001), Some(Holder::Nobody));
        assert_eq!(holder(400_001), Some(Holder::Nobody), "a name without an id");
        assert_eq!(holder(99_999), None);
        assert_eq!(holder(1000), None);
    }
}
