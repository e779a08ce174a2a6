//! `sacct --json`, of any version that has it (21.08 on): numbers are plain or wrapped in objects, states are one word or a list,
//! TRES are a list of objects. What isn't understood is absent, never zero; steps lie inside jobs and are left alone.

use super::{Record, Records};
use crate::import::FileError;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
struct Answer {
    jobs: Vec<Job>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Job {
    job_id: Option<Number>,
    array: Option<Array>,
    het: Option<Het>,
    cluster: Option<Text>,
    account: Option<Text>,
    user: Option<Text>,
    association: Option<Association>,
    partition: Option<Text>,
    qos: Option<Text>,
    state: Option<State>,
    time: Option<Time>,
    tres: Option<Tres>,
    nodes: Option<Text>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Array {
    job_id: Option<Number>,
    task_id: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Het {
    job_id: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Association {
    account: Option<Text>,
    cluster: Option<Text>,
    user: Option<Text>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
    current: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Time {
    submission: Option<Number>,
    start: Option<Number>,
    end: Option<Number>,
    suspended: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tres {
    allocated: Option<Allocated>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Allocated {
    List(Vec<Item>),
    /// `cpu=8,gres/gpu=1`.
    Text(String),
    Other(IgnoredAny),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    r#type: String,
    name: Option<String>,
    count: Option<Number>,
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
    Other(IgnoredAny),
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
enum Text {
    Is(String),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
    Other(IgnoredAny),
}

pub(super) fn read(text: &str) -> Result<Records, FileError> {
    let answer: Answer = serde_json::from_str(text).map_err(|error| FileError::Json(error.to_string()))?;
    Ok(answer.jobs.into_iter().zip(1..).map(|(job, at)| (at, Ok(record(job)))).collect())
}

fn record(job: Job) -> Record {
    let positive = |number: Option<&Number>| number.and_then(Number::value).filter(|n| *n > 0);
    let text = |own: Option<Text>| match own {
        Some(Text::Is(text)) => text,
        Some(Text::Other(_)) | None => String::new(),
    };
    let or = |first: String, second: String| if first.is_empty() { second } else { first };
    let association = job.association.unwrap_or_default();
    let time = job.time.unwrap_or_default();
    // Seconds; 0 is what Slurm has for what hasn't happened.
    let at_ms = |number: &Option<Number>| positive(number.as_ref()).and_then(|s| s.checked_mul(1000));
    let array = job.array.unwrap_or_default();
    let array_job = positive(array.job_id.as_ref()).map(|id| id.to_string());
    Record {
        cluster: or(text(job.cluster), text(association.cluster)),
        id: positive(job.job_id.as_ref()).map(|id| id.to_string()).unwrap_or_default(),
        is_step: false,
        array_task: array_job
            .as_ref()
            .and(array.task_id.as_ref().and_then(Number::value))
            .map(|t| t.to_string()),
        array_job,
        het_job: positive(job.het.unwrap_or_default().job_id.as_ref()).map(|id| id.to_string()),
        account: or(text(job.account), text(association.account)),
        user: or(text(job.user), text(association.user)),
        uid: String::new(),
        partition: text(job.partition),
        qos: text(job.qos),
        states: match job.state.unwrap_or_default().current {
            Some(Words::One(word)) => vec![word],
            Some(Words::Many(words)) => words,
            Some(Words::Other(_)) | None => Vec::new(),
        },
        submit_ms: at_ms(&time.submission),
        start_ms: at_ms(&time.start),
        end_ms: at_ms(&time.end),
        suspended_ms: at_ms(&time.suspended).unwrap_or(0),
        tres: match job.tres.unwrap_or_default().allocated {
            Some(Allocated::List(items)) => as_text(&items),
            Some(Allocated::Text(text)) => text,
            Some(Allocated::Other(_)) | None => String::new(),
        },
        nodes: text(job.nodes),
    }
}

/// The list as sacct writes it in text: `cpu=8,gres/gpu:a100=1`.
fn as_text(items: &[Item]) -> String {
    let item = |item: &Item| {
        let count = item.count.as_ref()?.value()?;
        let name = item.name.as_deref().filter(|name| !name.is_empty());
        Some(match name {
            Some(name) => format!("{}/{name}={count}", item.r#type),
            None => format!("{}={count}", item.r#type),
        })
    };
    items.iter().filter_map(item).collect::<Vec<_>>().join(",")
}
