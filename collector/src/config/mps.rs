//! `[mps]`: whether and how MPS control daemons are asked for their clients.

use crate::mps::Settings;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// The section; without it, clients are those that the driver lists, and they hold equal parts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mps {
    /// The command that talks to a daemon; from `PATH` by default.
    pub control_command: PathBuf,
    /// Pipe directory of each daemon on the node.
    pub pipe_directories: Vec<PathBuf>,
    /// Period of questions, milliseconds.
    pub poll_ms: u64,
    /// When a command is given up, milliseconds.
    pub deadline_ms: u64,
}

impl Default for Mps {
    fn default() -> Self {
        Self {
            control_command: "nvidia-cuda-mps-control".into(),
            pipe_directories: vec!["/tmp/nvidia-mps".into()],
            poll_ms: 10_000,
            deadline_ms: 5_000,
        }
    }
}

/// An hour.
const PERIOD_MS_MAX: u64 = 3_600_000;

impl Mps {
    /// What is wrong with it.
    pub fn problem(&self) -> Option<super::slurm::Problem> {
        let bad = |ms: u64| ms == 0 || ms > PERIOD_MS_MAX;
        if bad(self.poll_ms) {
            return Some(("mps.poll_ms", format!("{} is no period", self.poll_ms), "take 1000 to 3600000"));
        }
        if bad(self.deadline_ms) {
            let problem = format!("{} is no deadline", self.deadline_ms);
            return Some(("mps.deadline_ms", problem, "take 1000 to 3600000"));
        }
        if self.pipe_directories.is_empty() {
            let problem = "it is empty".to_owned();
            return Some(("mps.pipe_directories", problem, "name each daemon's, or leave out [mps]"));
        }
        None
    }

    /// As the witness takes it.
    pub fn settings(&self) -> Settings {
        Settings {
            control: self.control_command.clone(),
            pipe_directories: self.pipe_directories.clone(),
            period: Duration::from_millis(self.poll_ms),
            deadline: Duration::from_millis(self.deadline_ms),
        }
    }
}
