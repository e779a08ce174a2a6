//! Owners from `/proc`: the cgroup chain of a process, else its user. Read once for each (PID, start time), because a
//! PID comes back as another process.

use super::cgroup::layers;
use super::identity::identity;
use super::passwd::Passwd;
use super::person::{Ids, Person, person};
use super::place::{Seen, Standpoint, WrongPlace, is_hidden};
use super::subuid::{Holder, SubUid, namespace_root};
use super::{OwnerLookup, OwnerRecord, ProcessOwner};
use schema::owner::{Owner, OwnerKind, key};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Kernel ticks per second as user space sees them: fixed at 100 on every Linux that NVIDIA supports.
const TICKS_PER_S: i64 = 100;

/// The login id of processes that nobody logged in for: daemons, and where auditing is off.
const NO_LOGIN: u32 = u32::MAX;

/// A `/proc` and what was found in it.
pub struct Procfs {
    root: PathBuf,
    passwd: Passwd,
    subuid: SubUid,
    boot_s: Option<i64>,
    cache: HashMap<u32, ProcessOwner>,
    unresolved: u64,
    standpoint: Standpoint,
    /// Where the link of our own cgroup namespace leads; empty where it can't be read.
    own_namespace: String,
}

impl Procfs {
    /// Over the `/proc` at `root`, with user names from `passwd` where given.
    pub fn new(root: PathBuf, passwd: Option<PathBuf>) -> Self {
        let link = std::fs::read_link(root.join("self/ns/cgroup"));
        Self {
            own_namespace: link.map(|to| to.to_string_lossy().into_owned()).unwrap_or_default(),
            root,
            passwd: Passwd::new(passwd),
            subuid: SubUid::new(None),
            boot_s: None,
            cache: HashMap::new(),
            unresolved: 0,
            standpoint: Standpoint::default(),
        }
    }

    /// With the holders of subordinate user ids from this file, `/etc/subuid`.
    pub fn with_subuid(self, file: Option<PathBuf>) -> Self {
        Self { subuid: SubUid::new(file), ..self }
    }

    /// Why no owner can be found here, where that is so.
    pub fn wrong_place(&self) -> Option<WrongPlace> {
        self.standpoint.wrong_place()
    }

    /// The kernel's boot id; empty where it can't be read.
    pub fn boot_id(&self) -> String {
        self.read("sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
    }

    /// Look-ups so far that found no process.
    pub fn unresolved(&self) -> u64 {
        self.unresolved
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read(self.root.join(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Command name and start ticks from `stat`; the name may itself hold spaces and parentheses.
    fn stat(&self, pid: u32) -> Option<(String, u64)> {
        let stat = self.read(&format!("{pid}/stat"))?;
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let name = stat.get(open + 1..close)?.to_owned();
        // Field 22 of the line is the 20th after the name.
        let ticks = stat.get(close + 1..)?.split_whitespace().nth(19)?.parse().ok()?;
        Some((name, ticks))
    }

    /// When the node was booted, Unix milliseconds; whole seconds, up to one early.
    pub fn booted_ms(&mut self) -> Option<i64> {
        if self.boot_s.is_none() {
            self.boot_s = self.read("stat").and_then(|stat| {
                stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
            });
        }
        self.boot_s?.checked_mul(1000)
    }

    /// Start instant; second-granular boot time makes it up to a second early.
    fn started_ms(&mut self, ticks: u64) -> Option<i64> {
        Some(self.booted_ms()? + i64::try_from(ticks).ok()? * 1000 / TICKS_PER_S)
    }

    /// Real user id.
    fn uid(&self, pid: u32) -> Option<u32> {
        let status = self.read(&format!("{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Everything that says something about the person.
    fn ids(&mut self, pid: u32) -> Ids {
        let real = self.uid(pid);
        let login = self.read(&format!("{pid}/loginuid")).and_then(|text| text.trim().parse().ok());
        let root = self.read(&format!("{pid}/uid_map")).and_then(|map| namespace_root(&map));
        // Where the map can't be read, the real id alone may tell that it is a subordinate one.
        let outside = root.or(real).filter(|uid| *uid != 0);
        let holder = outside.and_then(|uid| self.subuid.holder(uid, &mut self.passwd));
        let namespace = match holder {
            Some(Holder::User(uid)) => Some(uid).filter(|uid| *uid != 0),
            Some(Holder::Nobody) => None,
            None => root.filter(|uid| *uid != 0),
        };
        Ids {
            real,
            login: login.filter(|uid| *uid != NO_LOGIN),
            namespace,
            in_namespace: root.is_some() || holder.is_some(),
        }
    }

    fn resolve(&mut self, pid: u32) -> Arc<OwnerRecord> {
        let file = self.read(&format!("{pid}/cgroup")).unwrap_or_default();
        if is_hidden(&self.own_namespace, &file) {
            self.standpoint.note(pid, Seen::Hidden);
            return OwnerRecord::unknown(format!(
                "pid {pid}: its cgroup is hidden from the collector's cgroup namespace"
            ));
        }
        self.standpoint.note(pid, Seen::Plain);
        let (chain, line) = layers(&file);
        let (kind, mut attributes) = identity(&chain);
        let person = person(kind, &chain, self.ids(pid));
        if let Some(uid) = person.as_ref().map(|person| person.uid) {
            attributes.insert(key::UID.into(), uid.to_string());
            if let Some(name) = self.passwd.name(uid) {
                attributes.insert(key::USER.into(), name);
            }
        }
        let (kind, mut evidence) = match (kind, &person) {
            (OwnerKind::Unspecified, Some(Person { uid, .. })) => {
                let first = file.lines().next().unwrap_or_default();
                (OwnerKind::User, format!("uid {uid}; cgroup {first:?}"))
            }
            (OwnerKind::Unspecified, None) => {
                return OwnerRecord::unknown(format!("pid {pid}: cgroup and status can't be read"));
            }
            (kind, _) => (kind, line.to_owned()),
        };
        if let Some(said) = person.map(|person| person.said).filter(|said| !said.is_empty()) {
            evidence = format!("{evidence}; {said}");
        }
        OwnerRecord::new(Owner { kind, attributes, evidence })
    }
}

impl OwnerLookup for Procfs {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let Some((name, start_ticks)) = self.stat(pid) else {
            self.unresolved += 1;
            self.standpoint.note(pid, Seen::Missing);
            let owner = OwnerRecord::unknown(format!("pid {pid} isn't in {}", self.root.display()));
            return ProcessOwner { owner, start_ticks: 0, started_ms: None, mps_server: false };
        };
        if let Some(known) = self.cache.get(&pid).filter(|known| known.start_ticks == start_ticks) {
            return known.clone();
        }
        let found = ProcessOwner {
            owner: self.resolve(pid),
            start_ticks,
            started_ms: self.started_ms(start_ticks),
            mps_server: name.starts_with("nvidia-cuda-mps"),
        };
        self.cache.insert(pid, found.clone());
        found
    }

    fn keep_only(&mut self, pids: &[u32]) {
        self.cache.retain(|pid, _| pids.contains(pid));
        self.standpoint.listed(pids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &std::path::Path, path: &str, text: &str) {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("folder");
        std::fs::write(file, text).expect("file");
    }

    fn stat(pid: u32, ticks: u64) -> String {
        format!("{pid} (odd) name) S 1 {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0\n")
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let dir = tempfile::tempdir().expect("folder");
        write(dir.path(), "stat", "cpu 0\nbtime 1000\n");
        write(dir.path(), "7/stat", &stat(7, 500));
        write(dir.path(), "7/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
        write(dir.path(), "7/cgroup", "0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n");
        write(dir.path(), "passwd", "ada:x:1000:1000::/:/bin/sh\n");
        let mut procfs = Procfs::new(dir.path().into(), Some(dir.path().join("passwd")));
        let first = procfs.lookup(7);
        assert_eq!((first.started_ms, first.start_ticks), (Some(1_005_000), 500));
        assert_eq!(first.owner.owner.kind, OwnerKind::Slurm);
        assert_eq!(first.owner.owner.attributes[key::USER], "ada");
        write(dir.path(), "7/stat", &stat(7, 900));
        write(dir.path(), "7/cgroup", "0::/\n");
        assert_eq!(procfs.lookup(7).owner.owner.kind, OwnerKind::User);
    }

    #[test]
    fn a_process_that_is_not_there_is_unknown_and_counted() {
        let dir = tempfile::tempdir().expect("folder");
        let mut procfs = Procfs::new(dir.path().into(), None);
        let (a, b) = (procfs.lookup(1), procfs.lookup(2));
        assert_eq!(a.owner.owner.kind, OwnerKind::Unknown);
        assert_eq!(a.owner.workload, b.owner.workload);
        assert_eq!(procfs.unresolved(), 2);
    }
}
