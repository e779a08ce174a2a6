//! Jobs from `squeue --json`, of any version that has it: numbers are plain up to 22.05 and wrapped in objects since,
//! states are one word or a list of words, and keys come and go. What isn't understood is absent, never zero.

use schema::owner::{Owner, OwnerKind, key as common};
use serde::Deserialize;
use std::sync::Arc;

/// Attributes of a Slurm job besides those that every stage knows.
pub mod key {
    /// When it was submitted, `2026-10-01T08:00:00Z`: job ids wrap and requeued runs keep theirs, so this is part of
    /// which run it was.
    pub const SUBMIT: &str = "slurm_submit";
    /// Partition.
    pub const PARTITION: &str = "slurm_partition";
    /// Quality of service.
    pub const QOS: &str = "slurm_qos";
    /// Job id that an array's tasks share.
    pub const ARRAY_JOB: &str = "slurm_array_job";
    /// Number within the array.
    pub const ARRAY_TASK: &str = "slurm_array_task";
    /// First job id of a heterogeneous job.
    pub const HET_JOB: &str = "slurm_het_job";
}

/// Where a job stands, as far as holding devices goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It waits and holds nothing.
    Waiting,
    /// It runs, or is being set up on devices that it has.
    Running,
    /// It is stopped; Slurm lets nobody else have its GPUs meanwhile.
    Suspended,
    /// It is over.
    Ended,
}

/// One entry of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Raw job id, as cgroups have it.
    pub id: u64,
    /// The id that cgroups have since Slurm 26.05, where the answer has it.
    pub sluid: Option<String>,
    /// When this run was submitted, Unix seconds: with the id, which run it is.
    pub submit_s: i64,
    /// When it started, Unix seconds.
    pub start_s: Option<i64>,
    /// When it ended, Unix seconds; for a job that runs, Slurm's guess.
    pub end_s: Option<i64>,
    /// When it was last suspended or resumed, Unix seconds.
    pub suspend_s: Option<i64>,
    /// How long it had run when that happened, seconds.
    pub ran_before_s: i64,
    /// Where it stands.
    pub phase: Phase,
    /// User id.
    pub uid: Option<u32>,
    /// Nodes in the order of `gres_detail`, as a host list.
    pub nodes: String,
    /// GRES on each node: `gpu:h100:1(IDX:0)`.
    pub gres_detail: Vec<String>,
    /// All that it was given: `cpu=8,gres/gpu=1`.
    pub tres: String,
    /// Its owner record.
    pub owner: Arc<Owner>,
}

#[derive(Deserialize)]
struct Answer {
    jobs: Vec<Raw>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Raw {
    job_id: Option<Number>,
    sluid: Option<String>,
    submit_time: Option<Number>,
    start_time: Option<Number>,
    end_time: Option<Number>,
    suspend_time: Option<Number>,
    pre_sus_time: Option<Number>,
    job_state: Option<Words>,
    account: Option<String>,
    user_name: Option<String>,
    user_id: Option<Number>,
    qos: Option<String>,
    partition: Option<String>,
    array_job_id: Option<Number>,
    array_task_id: Option<Number>,
    het_job_id: Option<Number>,
    nodes: Option<String>,
    job_resources: Option<Resources>,
    gres_detail: Option<Vec<String>>,
    tres_alloc_str: Option<String>,
}

/// A number, or an object that says whether there is one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(i64),
    Wrapped {
        #[serde(default)]
        set: bool,
        #[serde(default)]
        infinite: bool,
        number: i64,
    },
    Other(serde::de::IgnoredAny),
}

impl Number {
    fn value(&self) -> Option<i64> {
        match self {
            Number::Plain(number) => Some(*number),
            Number::Wrapped { set: true, infinite: false, number } => Some(*number),
            Number::Wrapped { .. } | Number::Other(_) => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Resources {
    Nodes { nodes: Nodes },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Nodes {
    List(String),
    Wrapped { list: String },
    Other(serde::de::IgnoredAny),
}

/// The jobs of an answer; entries without an id or a submit time are left out.
///
/// # Errors
/// It isn't JSON with a list of jobs.
pub fn parse_jobs(json: &[u8]) -> Result<Vec<Job>, serde_json::Error> {
    let answer: Answer = serde_json::from_slice(json)?;
    Ok(answer.jobs.into_iter().filter_map(job).collect())
}

/// A run as accounting has it; times in Unix seconds, texts as they stand there.
pub(super) struct Recorded<'a> {
    pub id: i64,
    pub submit_s: i64,
    pub start_s: Option<i64>,
    pub end_s: Option<i64>,
    pub suspended_s: i64,
    pub state: &'a str,
    pub account: &'a str,
    pub user: &'a str,
    pub uid: Option<i64>,
    pub qos: &'a str,
    pub partition: &'a str,
    pub array: Option<i64>,
    pub task: Option<i64>,
    pub het: Option<i64>,
    pub nodes: &'a str,
    pub tres: &'a str,
}

/// The same as a job of an answer. Suspended time is taken off its end: when it was isn't on record.
pub(super) fn recorded(run: &Recorded<'_>) -> Option<Job> {
    let plain = |number: Option<i64>| number.map(Number::Plain);
    let said = |text: &str| Some(text.to_owned());
    let raw = Raw {
        job_id: plain(Some(run.id)),
        submit_time: plain(Some(run.submit_s)),
        start_time: plain(run.start_s),
        end_time: plain(run.end_s.map(|end_s| (end_s - run.suspended_s).max(run.start_s.unwrap_or(end_s)))),
        job_state: Some(Words::One(run.state.to_owned())),
        account: said(run.account),
        user_name: said(run.user),
        user_id: plain(run.uid),
        qos: said(run.qos),
        partition: said(run.partition),
        array_job_id: plain(run.array),
        array_task_id: plain(run.task),
        het_job_id: plain(run.het),
        nodes: said(run.nodes),
        tres_alloc_str: said(run.tres),
        ..Raw::default()
    };
    let mut job = job(raw)?;
    let evidence = format!("sacct: job {}", run.id);
    job.owner = Arc::new(Owner { evidence, ..Owner::clone(&job.owner) });
    Some(job)
}

fn job(raw: Raw) -> Option<Job> {
    let positive = |number: &Option<Number>| number.as_ref().and_then(Number::value).filter(|n| *n > 0);
    let id = u64::try_from(positive(&raw.job_id)?).ok()?;
    let submit_s = positive(&raw.submit_time)?;
    let nodes = match &raw.job_resources {
        Some(Resources::Nodes { nodes: Nodes::List(list) | Nodes::Wrapped { list } }) => list.clone(),
        _ => raw.nodes.clone().unwrap_or_default(),
    };
    let owner = owner(&raw, id, submit_s);
    Some(Job {
        id,
        sluid: raw.sluid.filter(|id| !id.is_empty()),
        submit_s,
        start_s: positive(&raw.start_time),
        end_s: positive(&raw.end_time),
        suspend_s: positive(&raw.suspend_time),
        ran_before_s: positive(&raw.pre_sus_time).unwrap_or(0),
        phase: phase(raw.job_state.as_ref()),
        uid: raw.user_id.as_ref().and_then(Number::value).and_then(|uid| u32::try_from(uid).ok()),
        nodes,
        gres_detail: raw.gres_detail.unwrap_or_default(),
        tres: raw.tres_alloc_str.unwrap_or_default(),
        owner: Arc::new(owner),
    })
}

fn owner(raw: &Raw, id: u64, submit_s: i64) -> Owner {
    let number = |number: &Option<Number>| number.as_ref().and_then(Number::value);
    let grouped = |number: &Option<Number>| number.as_ref().and_then(Number::value).filter(|n| *n > 0);
    let array = grouped(&raw.array_job_id);
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty() && text != "(null)");
    let attributes = [
        (common::SLURM_JOB, Some(id.to_string())),
        (common::SLURM_ACCOUNT, said(&raw.account)),
        (common::USER, said(&raw.user_name)),
        (common::UID, number(&raw.user_id).map(|uid| uid.to_string())),
        (
            key::SUBMIT,
            chrono::DateTime::from_timestamp(submit_s, 0).map(|at| at.format("%FT%TZ").to_string()),
        ),
        (key::PARTITION, said(&raw.partition)),
        (key::QOS, said(&raw.qos)),
        (key::ARRAY_JOB, array.map(|id| id.to_string())),
        (key::ARRAY_TASK, array.and(number(&raw.array_task_id)).map(|task| task.to_string())),
        (key::HET_JOB, grouped(&raw.het_job_id).map(|id| id.to_string())),
    ];
    let known = attributes.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Owner { kind: OwnerKind::Slurm, attributes: known.collect(), evidence: format!("squeue: job {id}") }
}

/// The phase that a state's words mean; flags such as COMPLETING stand beside the word that counts.
fn phase(words: Option<&Words>) -> Phase {
    let all: Vec<&str> = match words {
        // `CANCELLED by 1000`: the first word is the state.
        Some(Words::One(text)) => text.split_whitespace().take(1).collect(),
        Some(Words::Many(list)) => list.iter().map(String::as_str).collect(),
        Some(Words::Other(_)) | None => Vec::new(),
    };
    let has = |wanted: &[&str]| all.iter().any(|word| wanted.contains(word));
    if has(&["SUSPENDED"]) {
        Phase::Suspended
    } else if has(&["RUNNING", "CONFIGURING", "STOPPED", "SIGNALING", "RESIZING"]) {
        Phase::Running
    } else if all.is_empty()
        || has(&["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"])
    {
        Phase::Waiting
    } else {
        Phase::Ended
    }
}

#[cfg(test)]
mod tests;
