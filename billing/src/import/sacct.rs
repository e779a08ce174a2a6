//! `import sacct`: what Slurm's accounting printed, as text (`sacct --parsable2`) or as JSON (`sacct --json`).
//!
//! Both make the same [`Entry`], with the owner that a collector makes of the same job, so that mapping rules catch history and
//! live metering alike.

use super::entry::{Entry, Options, shown};
use super::gpus::of_tres;
use super::{FileError, RUNS_MAX, Read, Row, RowError, Skip, TEXT_BYTES_MAX, said};
use schema::hostlist;
use schema::owner::{Owner, OwnerKind, key};
use std::collections::BTreeMap;

mod json;
mod text;

/// Reads what sacct printed: JSON where it starts with a brace.
///
/// # Errors
/// The file as a whole isn't sacct's. What is wrong with a row is in the row; in JSON a row's line is its place in the list.
pub fn read(content: &str, options: &Options) -> Result<Vec<Row>, FileError> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let rows: Records = if content.trim_start().starts_with('{') {
        json::read(content)?
    } else {
        text::read(content, options)?
    };
    let (mut out, mut runs) = (Vec::with_capacity(rows.len()), 0);
    for (line, record) in rows {
        let read = match record {
            Ok(record) => record.read(options),
            Err(error) => Read::Wrong(error),
        };
        if let Read::Runs(found) = &read {
            runs += found.len();
            if runs > RUNS_MAX {
                return Err(FileError::TooLong);
            }
        }
        out.push(Row { line, read });
    }
    Ok(out)
}

/// Records with the line, or the entry of the list, that each is of.
type Records = Vec<(u64, Result<Record, RowError>)>;

/// What both forms have of an allocation. Times in Unix milliseconds; texts as they stand there.
#[derive(Debug, Clone, Default)]
struct Record {
    cluster: String,
    /// Raw id: array tasks have one of their own.
    id: String,
    is_step: bool,
    array_job: Option<String>,
    array_task: Option<String>,
    het_job: Option<String>,
    account: String,
    user: String,
    uid: String,
    partition: String,
    qos: String,
    states: Vec<String>,
    submit_ms: Option<i64>,
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    suspended_ms: i64,
    tres: String,
    nodes: String,
}

impl Record {
    fn read(self, options: &Options) -> Read {
        if self.is_step {
            return Read::Skipped(Skip::Step);
        }
        self.entry(options).map_or_else(Read::Wrong, |entry| entry.read(options))
    }

    fn entry(self, options: &Options) -> Result<Entry, RowError> {
        let missing = |column: &str| RowError::Missing { column: column.into() };
        let job = said(&self.id).ok_or_else(|| missing("JobID"))?.to_owned();
        let texts = [&self.account, &self.user, &self.partition, &self.qos, &self.cluster, &self.id];
        if let Some(long) = texts.into_iter().find(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(RowError::TooLong { column: "a text".into(), bytes: long.len() });
        }
        let submit_ms = Some(self.submit_ms.ok_or_else(|| missing("Submit"))?);
        // A job that runs has no end yet; what stands there is its limit.
        let runs = self.states.iter().any(|s| ["RUNNING", "SUSPENDED", "CONFIGURING"].contains(&s.as_str()));
        let nodes = match said(&self.nodes) {
            Some(list) if hostlist::expand(list).is_some() => list.to_owned(),
            Some(list) => {
                return Err(RowError::Nodes { column: "NodeList".into(), text: list.into() });
            }
            None => String::new(),
        };
        Ok(Entry {
            cluster: said(&self.cluster).map(str::to_owned),
            submit_ms,
            start_ms: self.start_ms,
            end_ms: self.end_ms.filter(|_| !runs),
            suspended_ms: self.suspended_ms,
            owner: self.owner(&job, options),
            nodes,
            parts: of_tres(&self.tres, options.shards_per_gpu)?,
            job,
        })
    }

    /// The attributes that a collector gives the same job.
    fn owner(&self, job: &str, options: &Options) -> Owner {
        let text = |text: &str| said(text).map(str::to_owned);
        let attributes = [
            (key::SLURM_JOB, Some(job.to_owned())),
            (key::SLURM_ACCOUNT, text(&self.account)),
            (key::USER, text(&self.user)),
            (key::UID, text(&self.uid)),
            ("slurm_submit", self.submit_ms.map(shown)),
            ("slurm_partition", text(&self.partition)),
            ("slurm_qos", text(&self.qos)),
            ("slurm_array_job", self.array_job.clone()),
            ("slurm_array_task", self.array_job.as_ref().and(self.array_task.clone())),
            ("slurm_het_job", self.het_job.clone()),
        ];
        let known: BTreeMap<String, String> =
            attributes.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        Owner {
            kind: OwnerKind::Slurm,
            attributes: known,
            evidence: format!("sacct of {}: job {job}", options.file),
        }
    }
}

#[cfg(test)]
mod tests;
