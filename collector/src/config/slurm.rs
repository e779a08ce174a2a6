//! `[slurm]`: whether and how Slurm is asked who holds the node's GPUs.

use crate::slurm::{Devices, Policy, Settings};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// The section; without it Slurm isn't asked, and held time rests on processes alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slurm {
    /// The node's name in Slurm; the collector's `node.name` by default.
    pub node: Option<String>,
    /// Folder with `squeue`, `scontrol` and `slurmd`; from `PATH` by default.
    pub commands_directory: Option<PathBuf>,
    /// `slurm.conf`, where it isn't where Slurm's commands look.
    pub conf_file: Option<PathBuf>,
    /// Period of questions, milliseconds. Each is one job listing for `slurmctld`.
    pub poll_ms: u64,
    /// When a command is given up, milliseconds.
    pub deadline_ms: u64,
    /// The node's GPUs in Slurm's order: `/dev/nvidia0`, `GPU-...`, `MIG-...` or a PCI bus id. By default
    /// `slurmd -G` says, and where it can't, index N is `/dev/nvidiaN`.
    pub gpus: Vec<String>,
    /// Folder of job files that the site's prolog writes; read only where Slurm never answered.
    pub job_files_directory: Option<PathBuf>,
    /// Whether a job holds its GPUs while it is suspended.
    pub suspended_holds: bool,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            node: None,
            commands_directory: None,
            conf_file: None,
            poll_ms: 30_000,
            deadline_ms: 10_000,
            gpus: Vec::new(),
            job_files_directory: None,
            suspended_holds: false,
        }
    }
}

/// A key with what is wrong with it and what would be right.
pub type Problem = (&'static str, String, &'static str);

/// An hour: a longer period would be longer than any window waits.
const PERIOD_MS_MAX: u64 = 3_600_000;

impl Slurm {
    /// What is wrong with it.
    pub fn problem(&self) -> Option<Problem> {
        if self.poll_ms == 0 || self.poll_ms > PERIOD_MS_MAX {
            return Some(("slurm.poll_ms", format!("{} is no period", self.poll_ms), "take 1000 to 3600000"));
        }
        if self.deadline_ms == 0 || self.deadline_ms > PERIOD_MS_MAX {
            return Some((
                "slurm.deadline_ms",
                format!("{} is no deadline", self.deadline_ms),
                "take 1000 to 3600000",
            ));
        }
        if Devices::from_names(&self.gpus).is_none() {
            let problem = format!("{:?} names something that is no GPU", self.gpus);
            return Some(("slurm.gpus", problem, "take /dev/nvidiaN, GPU-..., MIG-... or a PCI bus id"));
        }
        None
    }

    /// How long a window waits for Slurm's word: two questions, one of them late.
    pub fn wait_ms(&self) -> i64 {
        i64::try_from(self.poll_ms * 2 + self.deadline_ms).expect("validated to be some hours at most")
    }

    /// As the witness takes it; `node` is the collector's name for this node, and nobody asked since `unasked_since_ms`.
    pub fn settings(&self, node: String, unasked_since_ms: Option<i64>) -> Settings {
        let gpus = (!self.gpus.is_empty()).then(|| Devices::from_names(&self.gpus)).flatten();
        Settings {
            node: self.node.clone().unwrap_or(node),
            commands: self.commands_directory.clone(),
            conf: self.conf_file.clone(),
            period: Duration::from_millis(self.poll_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            gpus,
            job_files: self.job_files_directory.clone(),
            unasked_since_ms,
            policy: Policy { suspended_holds: self.suspended_holds },
        }
    }
}
