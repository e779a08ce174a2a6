//! History from a scheduler: who held which GPUs before anybody metered. A file is read into rows, each row is a run to add, a
//! reason to skip it, or what is wrong with it; [`plan`] then says what of it is new.
//!
//! A run is counted under its natural key (cluster, job, submit, start), so a file imported twice adds nothing the second time.
//! Nothing is guessed: a time that a clock change makes unclear, a share that isn't said, a run without an end are not run time.

use schema::units::NanoGpuHours;

pub mod run;
pub use run::{Run, RunKey};

pub mod time;

pub mod entry;
pub use entry::{Models, Options};

mod gpus;

pub mod allocations;

pub mod sacct;

pub mod plan;

pub mod lines;

/// The most runs in one file. An import is whole or not at all, so it is held in memory: about 1 KiB a run.
pub const RUNS_MAX: usize = 250_000;
/// The largest file, bytes.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
/// The longest text that a cell may hold, bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// A row of a file and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Line of the file from 1, or entry of the list from 1.
    pub line: u64,
    /// What it is.
    pub read: Read,
}

/// What a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// Runs: several where a job had GPUs of several types, or several devices.
    Runs(Vec<Run>),
    /// It held nothing that can be counted, and that is as it should be.
    Skipped(Skip),
    /// It can't be meant.
    Wrong(RowError),
}

/// Why a row adds nothing, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Skip {
    /// No GPU was given to it.
    #[error("held no GPU")]
    NoGpu,
    /// It waits, or was taken back before it started.
    #[error("never started")]
    NeverStarted,
    /// It has no end yet.
    #[error("has not ended: import it again when it has")]
    NotEnded,
    /// It ended in the moment in which it started.
    #[error("took no time")]
    NoTime,
    /// A step of a job: what it held, the job holds.
    #[error("is a step of a job")]
    Step,
    /// It started at or after `--until`.
    #[error("started after --until")]
    AfterUntil,
}

/// What is wrong with a row: thing and remedy; the line is the row's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the texts say what each field is
pub enum RowError {
    #[error("it has {got} cells where the header has {want}: a cell holds the delimiter, or a line break")]
    Cells { got: usize, want: usize },
    #[error("{column}: {source}")]
    Time { column: String, source: time::TimeError },
    #[error("{column}: {text:?} is not {want}")]
    Number { column: String, text: String, want: &'static str },
    #[error("{column}: the text has {bytes} bytes, the most is {TEXT_BYTES_MAX}")]
    TooLong { column: String, bytes: usize },
    #[error("{column} is empty: every run needs one, because it is counted under it")]
    Missing { column: String },
    #[error("it ends at {end} before it starts at {start}")]
    EndsBeforeStart { start: String, end: String },
    #[error("it starts at {0}, before 2000: are these times relative? Give --time-origin, or --time-unit ms")]
    TooEarly(String),
    #[error("it ends at {0}, which is still to come: import a run after its end")]
    Future(String),
    #[error("it lasts from {start} to {end}, longer than ten years: one of the two is wrong")]
    TooLongRun { start: String, end: String },
    #[error("no model: name one for all rows with --model NAME, or map a column to `model`")]
    NoModel,
    #[error("no cluster: name one for all rows with --cluster NAME, or map a column to `cluster`")]
    NoCluster,
    #[error("{text:?} can't be read as an allocation of GPUs: write it as Slurm does, cpu=8,gres/gpu:a100=1")]
    Tres { text: String },
    #[error(
        "it held {0} of a GPU, and the record doesn't say how many make one: give --shards-per-gpu N for shards; MPS percentages can't be imported"
    )]
    Slots(&'static str),
    #[error("{devices} devices are named for {gpus} GPUs: name as many as were held, or none")]
    Devices { devices: usize, gpus: u32 },
    #[error("{column}: {text:?} is no list of nodes: write node1,node[3-5]")]
    Nodes { column: String, text: String },
}

/// What is wrong with a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the texts say what each field is
pub enum FileError {
    #[error("it has no header: its first line must name the columns")]
    NoHeader,
    #[error("it has no column {column:?}; its columns are {have}")]
    NoColumn { column: String, have: String },
    #[error("it has two columns {0:?}: rename one, so that it is clear which is meant")]
    TwoColumns(String),
    #[error("no column holds {what}: ask for it with `{remedy}`")]
    Lacks { what: &'static str, remedy: &'static str },
    #[error(
        "column {0} is text that users write and can carry line breaks, with which a row could be forged: leave it out of --format"
    )]
    FreeText(String),
    #[error("it is not the JSON of `sacct --json`: {0}")]
    Json(String),
    #[error("it can't be read as CSV: {0}")]
    Csv(String),
    #[error(
        "it has more than {RUNS_MAX} runs: cut it, by month for instance; an import is whole or not at all"
    )]
    TooLong,
}

/// Device time of some runs.
pub fn held<'a>(runs: impl IntoIterator<Item = &'a Run>) -> NanoGpuHours {
    runs.into_iter().map(Run::held).sum()
}

/// A cell that says something: empty ones, and the words that schedulers print for nothing, don't.
fn said(text: &str) -> Option<&str> {
    const NOTHING: [&str; 8] = ["", "Unknown", "None", "N/A", "NULL", "null", "(null)", "None assigned"];
    let text = text.trim();
    (!NOTHING.contains(&text)).then_some(text)
}
