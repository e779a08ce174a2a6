//! `[dcgm]`: whether a DCGM exporter on the node is read for what NVML doesn't tell.

use crate::dcgm::Settings;
use serde::Deserialize;
use std::time::Duration;

/// The section; without it, the use of MIG instances before Hopper is unknown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dcgm {
    /// Its page, such as `http://127.0.0.1:9400/metrics`.
    pub url: String,
    /// Period of looks, milliseconds: the exporter's own, so that each value stands for its time.
    #[serde(default = "poll_ms")]
    pub poll_ms: u64,
    /// When one is given up, milliseconds.
    #[serde(default = "deadline_ms")]
    pub deadline_ms: u64,
}

fn poll_ms() -> u64 {
    10_000
}

fn deadline_ms() -> u64 {
    5_000
}

/// An hour.
const PERIOD_MS_MAX: u64 = 3_600_000;

impl Dcgm {
    /// What is wrong with it.
    pub fn problem(&self) -> Option<super::slurm::Problem> {
        if !self.url.starts_with("http://") {
            let problem = format!("{:?} is no page of this node", self.url);
            return Some((
                "dcgm.url",
                problem,
                "start it with http://, such as http://127.0.0.1:9400/metrics",
            ));
        }
        let bad = |ms: u64| ms == 0 || ms > PERIOD_MS_MAX;
        if bad(self.poll_ms) {
            return Some(("dcgm.poll_ms", format!("{} is no period", self.poll_ms), "take 1000 to 3600000"));
        }
        if bad(self.deadline_ms) {
            let problem = format!("{} is no deadline", self.deadline_ms);
            return Some(("dcgm.deadline_ms", problem, "take 1000 to 3600000"));
        }
        None
    }

    /// As the witness takes it.
    pub fn settings(&self) -> Settings {
        Settings {
            url: self.url.clone(),
            period: Duration::from_millis(self.poll_ms),
            deadline: Duration::from_millis(self.deadline_ms),
        }
    }
}
