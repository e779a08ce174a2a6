//! A record as any format has it, and the rules that make runs of it.

use super::time::Clock;
use super::{Read, RowError, Run, RunKey, Skip};
use crate::instant::local;
use chrono_tz::Tz;
use schema::owner::Owner;
use schema::share::Share;
use std::collections::BTreeMap;

/// Midnight of 1 January 2000: what starts before was written relative to something.
const EARLIEST_MS: i64 = 946_684_800_000;
/// Ten years: what would last longer has a wrong end.
const LONGEST_MS: i64 = 10 * 366 * 24 * 3_600_000;

/// What holds for all rows of a file.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file's name, for the evidence.
    pub file: String,
    /// Cluster of rows that name none.
    pub cluster: Option<String>,
    /// Models of rows.
    pub models: Models,
    /// How times are meant.
    pub clock: Clock,
    /// Runs are cut there, where live metering took over; Unix milliseconds.
    pub until_ms: Option<i64>,
    /// Whether a run holds its GPUs while it is suspended.
    pub suspended_holds: bool,
    /// How many Slurm shards make a GPU, where there are any.
    pub shards_per_gpu: Option<u32>,
    /// Now, Unix milliseconds: nothing ends later.
    pub now_ms: i64,
}

/// Which product names rows' models are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    /// Of rows that name none.
    pub default: Option<String>,
    /// Of a name in the file: `a100` is `NVIDIA A100-SXM4-80GB`.
    pub names: BTreeMap<String, String>,
}

impl Models {
    /// The product name for what a row says.
    pub fn of(&self, said: Option<&str>) -> Option<String> {
        match said {
            Some(name) => Some(self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())),
            None => self.default.clone(),
        }
    }
}

/// Some GPUs of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Tells it from the record's other parts; empty where it is the only one.
    pub part: String,
    /// Model as the record names it.
    pub model: Option<String>,
    /// MIG profile, or empty.
    pub profile: String,
    /// How many.
    pub gpus: u32,
    /// How much of a GPU each is.
    pub share: Share,
    /// The one device, where it is named.
    pub device: Option<String>,
}

/// A record.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub cluster: Option<String>,
    pub job: String,
    pub submit_ms: Option<i64>,
    pub start_ms: Option<i64>,
    pub end_ms: Option<i64>,
    pub suspended_ms: i64,
    pub owner: Owner,
    pub nodes: String,
    pub parts: Vec<Part>,
}

impl Entry {
    /// The runs of a record, why there are none, or what is wrong.
    pub fn read(self, options: &Options) -> Read {
        let parts: Vec<&Part> = self.parts.iter().filter(|p| p.gpus > 0 && p.share.num > 0).collect();
        if parts.is_empty() {
            return Read::Skipped(Skip::NoGpu);
        }
        let Some(start_ms) = self.start_ms else { return Read::Skipped(Skip::NeverStarted) };
        let Some(end_ms) = self.end_ms else { return Read::Skipped(Skip::NotEnded) };
        let end_ms = match self.held_end_ms(start_ms, end_ms, options) {
            Ok(end_ms) if end_ms > start_ms => end_ms,
            Ok(_) => return Read::Skipped(Skip::NoTime),
            Err(error) => return Read::Wrong(error),
        };
        let end_ms = match options.until_ms {
            Some(until_ms) if start_ms >= until_ms => return Read::Skipped(Skip::AfterUntil),
            Some(until_ms) => end_ms.min(until_ms),
            None => end_ms,
        };
        let Some(cluster) = self.cluster.clone().or_else(|| options.cluster.clone()) else {
            return Read::Wrong(RowError::NoCluster);
        };
        let run = |part: &Part| {
            Some(Run {
                key: RunKey {
                    cluster: cluster.clone(),
                    job: self.job.clone(),
                    submit_ms: self.submit_ms.unwrap_or(start_ms),
                    start_ms,
                    part: part.part.clone(),
                },
                end_ms,
                owner: self.owner.clone(),
                model: options.models.of(part.model.as_deref())?,
                profile: part.profile.clone(),
                gpus: part.gpus,
                share: part.share,
                nodes: self.nodes.clone(),
                device: part.device.clone(),
            })
        };
        match parts.into_iter().map(run).collect::<Option<Vec<_>>>() {
            Some(runs) => Read::Runs(runs),
            None => Read::Wrong(RowError::NoModel),
        }
    }

    /// Its end, without the time in which it was suspended: when that was isn't on record, so it is taken off the end.
    fn held_end_ms(&self, start_ms: i64, end_ms: i64, options: &Options) -> Result<i64, RowError> {
        if start_ms < EARLIEST_MS {
            return Err(RowError::TooEarly(shown(start_ms)));
        }
        if end_ms < start_ms {
            return Err(RowError::EndsBeforeStart { start: shown(start_ms), end: shown(end_ms) });
        }
        if end_ms > options.now_ms {
            return Err(RowError::Future(shown(end_ms)));
        }
        if end_ms - start_ms > LONGEST_MS {
            return Err(RowError::TooLongRun { start: shown(start_ms), end: shown(end_ms) });
        }
        let held_ms = if options.suspended_holds { end_ms } else { end_ms - self.suspended_ms };
        Ok(held_ms.max(start_ms))
    }
}

/// An instant for an error's reader.
pub(super) fn shown(at_ms: i64) -> String {
    local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%M:%S%.fZ").to_string()
}
