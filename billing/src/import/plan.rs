//! What of a file is new: what is added, what is there already, what is skipped, what is refused. Pure: what is there is handed in.

use super::entry::shown;
use super::{Read, Row, RowError, Run, RunKey, Skip};
use schema::window::Window;
use std::collections::HashMap;

/// A run that is imported already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRun {
    /// What it is counted under.
    pub key: RunKey,
    /// Its end, Unix milliseconds.
    pub end_ms: i64,
    /// Hash of its content.
    pub content_hash: u64,
}

/// A device that live metering or the inventory knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice {
    /// Cluster.
    pub cluster: String,
    /// Node that it was last seen on.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// From first to last sight: the time that collectors answer for, gaps included. `None` where it was never seen.
    pub metered: Option<Window>,
    /// From when it is in service to when it is retired.
    pub in_service: Window,
}

/// Why a row isn't taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the texts say what each field is
pub enum Refusal {
    #[error(transparent)]
    Wrong(#[from] RowError),
    #[error("job {job} is on line {line} too, with other content: one of the two is wrong; leave it out")]
    TwoContents { job: String, line: u64 },
    #[error(
        "job {job}, submitted {submit}, is imported already with other content, to {end}: a run doesn't change; correct it with `slicemeter adjust`"
    )]
    Changed { job: String, submit: String, end: String },
    #[error(
        "job {job}, submitted {submit}, overlaps its own run from {start} to {end}, which is counted already: import whole runs, such as sacct prints without --truncate"
    )]
    Overlaps { job: String, submit: String, start: String, end: String },
    #[error(
        "{what} was metered live from {from} to {to}, and time is counted once: take only what was before, with --until {from}"
    )]
    Metered { what: String, from: String, to: String },
    #[error(
        "device {device} of cluster {cluster} was not in service at {start}: say since when it was with `slicemeter inventory expect --device {device} --from ...`, or leave the device out"
    )]
    NotInService { cluster: String, device: String, start: String },
}

/// What an import would do, each with the line it is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// New runs.
    pub added: Vec<(u64, Run)>,
    /// Runs that are counted already, here or above in the file.
    pub repeated: Vec<u64>,
    /// Rows that add nothing.
    pub skipped: Vec<(u64, Skip)>,
    /// Rows that aren't taken.
    pub refused: Vec<(u64, Refusal)>,
}

/// A run's end, content and where it stands: a line of this file, or none where it is imported already.
#[derive(Clone, Copy)]
struct Counted {
    start_ms: i64,
    end_ms: i64,
    content_hash: u64,
    line: Option<u64>,
}

/// Runs of one job, as it was submitted once, on one part.
type JobKey = (String, String, i64, String);

fn job_key(key: &RunKey) -> JobKey {
    (key.cluster.clone(), key.job.clone(), key.submit_ms, key.part.clone())
}

/// Decides row by row, in the order of the file.
pub fn plan(rows: Vec<Row>, known: &[KnownRun], devices: &[KnownDevice]) -> Plan {
    let mut counted: HashMap<JobKey, Vec<Counted>> = HashMap::new();
    for run in known {
        counted.entry(job_key(&run.key)).or_default().push(Counted {
            start_ms: run.key.start_ms,
            end_ms: run.end_ms,
            content_hash: run.content_hash,
            line: None,
        });
    }
    let live = Live::of(devices);
    let mut plan = Plan::default();
    for Row { line, read } in rows {
        let runs = match read {
            Read::Skipped(skip) => {
                plan.skipped.push((line, skip));
                continue;
            }
            Read::Wrong(error) => {
                plan.refused.push((line, error.into()));
                continue;
            }
            Read::Runs(runs) => runs,
        };
        // A row is taken whole or not at all.
        let verdicts: Result<Vec<bool>, Refusal> = runs
            .iter()
            .map(|run| {
                let is_new = is_new(run, counted.get(&job_key(&run.key)))?;
                // What is counted already was judged when it was imported.
                if is_new {
                    live.check(run)?;
                }
                Ok(is_new)
            })
            .collect();
        match verdicts {
            Err(refusal) => plan.refused.push((line, refusal)),
            Ok(new) if !new.contains(&true) => plan.repeated.push(line),
            Ok(new) => {
                for run in runs.into_iter().zip(new).filter(|(_, is_new)| *is_new).map(|(run, _)| run) {
                    counted.entry(job_key(&run.key)).or_default().push(Counted {
                        start_ms: run.key.start_ms,
                        end_ms: run.end_ms,
                        content_hash: run.content_hash(),
                        line: Some(line),
                    });
                    plan.added.push((line, run));
                }
            }
        }
    }
    plan
}

/// Whether a run is neither there nor at odds with what is.
fn is_new(run: &Run, others: Option<&Vec<Counted>>) -> Result<bool, Refusal> {
    let Some(others) = others else { return Ok(true) };
    let (job, submit) = (run.key.job.clone(), shown(run.key.submit_ms));
    if let Some(same) = others.iter().find(|other| other.start_ms == run.key.start_ms) {
        return match (same.content_hash == run.content_hash(), same.line) {
            (true, _) => Ok(false),
            (false, Some(line)) => Err(Refusal::TwoContents { job, line }),
            (false, None) => Err(Refusal::Changed { job, submit, end: shown(same.end_ms) }),
        };
    }
    match others.iter().find(|other| other.start_ms < run.end_ms && run.key.start_ms < other.end_ms) {
        Some(other) => {
            Err(Refusal::Overlaps { job, submit, start: shown(other.start_ms), end: shown(other.end_ms) })
        }
        None => Ok(true),
    }
}

/// What collectors answer for.
struct Live<'a> {
    by_device: HashMap<(&'a str, &'a str), &'a KnownDevice>,
    clusters: HashMap<&'a str, Metered<'a>>,
}

/// The metered devices of one cluster.
struct Metered<'a> {
    /// When the first of them was seen: most history lies before.
    first_ms: i64,
    devices: Vec<&'a KnownDevice>,
    /// By the short name of the node.
    by_node: HashMap<&'a str, Vec<&'a KnownDevice>>,
}

impl<'a> Live<'a> {
    fn of(devices: &'a [KnownDevice]) -> Self {
        let by_device = devices.iter().map(|d| ((d.cluster.as_str(), d.device.as_str()), d)).collect();
        let mut clusters: HashMap<&str, Metered> = HashMap::new();
        for device in devices {
            let Some(metered) = device.metered else { continue };
            let none = || Metered { first_ms: i64::MAX, devices: Vec::new(), by_node: HashMap::new() };
            let cluster = clusters.entry(&device.cluster).or_insert_with(none);
            cluster.first_ms = cluster.first_ms.min(metered.start_ms);
            cluster.devices.push(device);
            cluster.by_node.entry(short_name(&device.node)).or_default().push(device);
        }
        Self { by_device, clusters }
    }

    /// Refuses time that is metered: of the device where one is named, of the nodes where they are, else of the cluster,
    /// whatever the models are called, because a bill counted twice is worse than history left out.
    fn check(&self, run: &Run) -> Result<(), Refusal> {
        let cluster = run.key.cluster.as_str();
        if let Some(device) = &run.device {
            let known = self.by_device.get(&(cluster, device.as_str()));
            let serves = |d: &&&KnownDevice| {
                d.in_service.start_ms <= run.key.start_ms && run.end_ms <= d.in_service.end_ms
            };
            let not_in_service = || Refusal::NotInService {
                cluster: cluster.into(),
                device: device.clone(),
                start: shown(run.key.start_ms),
            };
            let known = known.filter(serves).ok_or_else(not_in_service)?;
            return overlap(known, run, || format!("device {device}"));
        }
        let Some(metered) = self.clusters.get(cluster).filter(|m| m.first_ms < run.end_ms) else {
            return Ok(());
        };
        let nodes = run.node_names();
        if nodes.is_empty() {
            return metered.devices.iter().try_for_each(|d| overlap(d, run, || format!("cluster {cluster}")));
        }
        for node in &nodes {
            let on_it = metered.by_node.get(short_name(node)).into_iter().flatten();
            for device in on_it.filter(|d| same_node(node, &d.node)) {
                overlap(device, run, || format!("node {}", device.node))?;
            }
        }
        Ok(())
    }
}

fn overlap(device: &KnownDevice, run: &Run, what: impl Fn() -> String) -> Result<(), Refusal> {
    match device.metered.and_then(|metered| metered.intersect(&run.window()).map(|_| metered)) {
        Some(metered) => {
            Err(Refusal::Metered { what: what(), from: shown(metered.start_ms), to: shown(metered.end_ms) })
        }
        None => Ok(()),
    }
}

/// Slurm has short names where a collector may have the whole one.
fn same_node(a: &str, b: &str) -> bool {
    let is_short = |name: &str| short_name(name).len() == name.len();
    a == b || ((is_short(a) || is_short(b)) && short_name(a) == short_name(b))
}

fn short_name(node: &str) -> &str {
    node.split_once('.').map_or(node, |(short, _)| short)
}

#[cfg(test)]
mod tests;
