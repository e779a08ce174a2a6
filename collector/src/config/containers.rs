//! `[containers]`: whether Docker and Podman are asked what their containers are called, run and are labelled.

use super::slurm::Problem;
use crate::containers::Settings;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// The section; without it nobody is asked, and containers outside Kubernetes are known by id alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Containers {
    /// Sockets of the daemons that run as root. Whoever may use Docker's is root on the node.
    pub sockets: Vec<PathBuf>,
    /// Whether users' own daemons are asked about the users' own containers.
    pub rootless: bool,
    /// Folder of users' runtime folders, in which their daemons' sockets are.
    pub user_runtime_directory: PathBuf,
    /// Labels to carry with usage, by exact key.
    pub labels: Vec<String>,
    /// When a question is given up, milliseconds.
    pub deadline_ms: u64,
    /// How long a window waits for a container's record, milliseconds.
    pub wait_ms: u64,
}

impl Default for Containers {
    fn default() -> Self {
        Self {
            sockets: vec!["/var/run/docker.sock".into(), "/run/podman/podman.sock".into()],
            rootless: true,
            user_runtime_directory: "/run/user".into(),
            labels: Vec::new(),
            deadline_ms: 5_000,
            wait_ms: 30_000,
        }
    }
}

/// Labels that may be carried, and bytes of a key: labels are part of what travels with every owner.
const LABELS_MAX: usize = 32;
const KEY_BYTES_MAX: usize = 256;

/// A window of a quarter of an hour waits no longer than another.
const WAIT_MS_MAX: u64 = 900_000;

impl Containers {
    /// What is wrong with it.
    pub fn problem(&self) -> Option<Problem> {
        if self.sockets.is_empty() && !self.rootless {
            let problem = "there is nobody to ask".to_owned();
            return Some(("containers.sockets", problem, "name a socket, or leave the section out"));
        }
        if let Some(socket) = self.sockets.iter().find(|socket| !socket.is_absolute()) {
            let problem = format!("{socket:?} is no absolute path");
            return Some(("containers.sockets", problem, "take a path such as /var/run/docker.sock"));
        }
        if self.labels.len() > LABELS_MAX {
            let problem = format!("{} labels", self.labels.len());
            return Some(("containers.labels", problem, "name at most 32"));
        }
        if let Some(key) = self.labels.iter().find(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
            let problem = format!("{key:?} is no label's key");
            return Some(("containers.labels", problem, "take keys of 1 to 256 bytes"));
        }
        if self.wait_ms > WAIT_MS_MAX {
            return Some(("containers.wait_ms", format!("{}", self.wait_ms), "take at most 900000"));
        }
        if self.deadline_ms == 0 || self.deadline_ms > self.wait_ms {
            let problem = format!("{} is no deadline within containers.wait_ms", self.deadline_ms);
            return Some(("containers.deadline_ms", problem, "take 1000 to containers.wait_ms"));
        }
        None
    }

    /// How long a window waits for the word, milliseconds.
    pub fn wait_ms(&self) -> i64 {
        i64::try_from(self.wait_ms).expect("validated to be a quarter of an hour at most")
    }

    /// As the witness takes it; `aliases` is whether pods that nobody else here knows are told by the container that
    /// they run in.
    pub fn settings(&self, aliases: bool) -> Settings {
        Settings {
            sockets: self.sockets.clone(),
            user_runtime: self.rootless.then(|| self.user_runtime_directory.clone()),
            labels: self.labels.clone(),
            deadline: Duration::from_millis(self.deadline_ms),
            wait_ms: self.wait_ms(),
            aliases,
        }
    }
}
