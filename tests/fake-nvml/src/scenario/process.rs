//! What a scenario says of a process: who it is to Linux, and what it does to a GPU.

use serde::{Deserialize, Serialize};

use super::value::{Seconds, Series};

/// A process. One that uses several GPUs is several entries with one PID whose lives overlap; the process as `/proc`
/// shows it then lives from the first start to the last end. Entries with one PID that don't overlap are PID reuse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// PID on the host.
    pub pid: u32,
    /// Index of the GPU; without one the process is in `/proc` only (a parent, a daemon).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<usize>,
    /// GPU instance, where the GPU is cut by MIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gi: Option<u32>,
    /// Compute instance in it; 0 where only `gi` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<u32>,
    /// When it starts.
    #[serde(default)]
    pub start: Seconds,
    /// When it has gone; never where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Seconds>,
    /// Real, effective, saved and login user.
    #[serde(default)]
    pub uid: u32,
    /// Login user, where it isn't `uid`: who became another by sudo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_uid: Option<u32>,
    /// Lines of `/proc/<pid>/uid_map`, where it is in a user namespace other than the host's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uid_map: Vec<String>,
    /// Path of its executable, as NVML names it.
    #[serde(default = "unnamed")]
    pub name: String,
    /// Lines of `/proc/<pid>/cgroup`.
    #[serde(default = "root_cgroup", deserialize_with = "one_or_many")]
    pub cgroup: Vec<String>,
    /// Parent's PID.
    #[serde(default = "init_pid")]
    pub ppid: u32,
    /// PIDs in the namespaces inside the host's, outermost first (`NSpid`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ns_pids: Vec<u32>,
    /// Environment, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environ: Vec<String>,
    /// Busy: percent of the GPU, or of its compute instance under MIG, that it asks for. Where the processes of one GPU
    /// ask for more than 100 together, each gets its part of 100.
    #[serde(default)]
    pub busy: Series,
    /// Memory, in MiB.
    #[serde(default)]
    pub memory_mib: Series,
    /// NVML answers "not available" for its memory.
    #[serde(default, skip_serializing_if = "is_false")]
    pub memory_unavailable: bool,
    /// It is in the graphics list too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub graphics: bool,
    /// It is in the graphics list only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub graphics_only: bool,
    /// It is a client of the MPS server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mps_client: bool,
    /// It is the MPS server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mps_server: bool,
}

impl Process {
    /// A process of user 0 on a whole GPU, alive for ever, not busy, without memory.
    pub fn new(pid: u32, gpu: usize) -> Self {
        Self { gpu: Some(gpu), ..Self::without_gpu(pid) }
    }

    /// A process that is in `/proc` only.
    pub fn without_gpu(pid: u32) -> Self {
        Self {
            pid,
            gpu: None,
            gi: None,
            ci: None,
            start: Seconds::ZERO,
            end: None,
            uid: 0,
            login_uid: None,
            uid_map: Vec::new(),
            name: unnamed(),
            cgroup: root_cgroup(),
            ppid: init_pid(),
            ns_pids: Vec::new(),
            environ: Vec::new(),
            busy: Series::default(),
            memory_mib: Series::default(),
            memory_unavailable: false,
            graphics: false,
            graphics_only: false,
            mps_client: false,
            mps_server: false,
        }
    }

    /// In this GPU instance and compute instance.
    pub fn on_instance(mut self, gi: u32, ci: u32) -> Self {
        (self.gi, self.ci) = (Some(gi), Some(ci));
        self
    }

    /// Alive during `[start, end)`.
    pub fn alive(mut self, start: impl Into<Seconds>, end: impl Into<Seconds>) -> Self {
        (self.start, self.end) = (start.into(), Some(end.into()));
        self
    }

    /// Of this user.
    pub fn uid(mut self, uid: u32) -> Self {
        self.uid = uid;
        self
    }

    /// With this executable.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// In this cgroup (one line of `/proc/<pid>/cgroup`).
    pub fn cgroup(mut self, line: &str) -> Self {
        self.cgroup = vec![line.to_owned()];
        self
    }

    /// Busy, in percent.
    pub fn busy(mut self, busy: impl Into<Series>) -> Self {
        self.busy = busy.into();
        self
    }

    /// Memory, in MiB.
    pub fn memory_mib(mut self, memory: impl Into<Series>) -> Self {
        self.memory_mib = memory.into();
        self
    }
}

fn unnamed() -> String {
    "/usr/bin/python3".to_owned()
}

fn root_cgroup() -> Vec<String> {
    vec!["0::/".to_owned()]
}

fn init_pid() -> u32 {
    1
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a cgroup line or a list of them")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(line) => vec![line],
        OneOrMany::Many(lines) => lines,
    })
}
