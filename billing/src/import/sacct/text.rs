//! `sacct --parsable2` with its header: columns are found by name, so any --format with the needed ones will do.

use super::{Record, Records};
use crate::import::{FileError, Options, RowError, said};

/// Columns that users fill as they like: Slurm prints line breaks in them as they are, so that a row could be forged.
const FREE_TEXT: [&str; 8] =
    ["JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "StdOut", "Extra"];

/// What the columns are asked for with.
const REMEDY: &str = "sacct -P --allusers --allocations --duplicates --format=\
JobIDRaw,JobID,Cluster,Account,User,UID,Partition,QOS,Submit,Start,End,Suspended,State,AllocTRES,NodeList";

struct Columns<'a> {
    names: Vec<&'a str>,
}

impl Columns<'_> {
    fn at(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own.eq_ignore_ascii_case(name))
    }
}

pub(super) fn read(text: &str, options: &Options) -> Result<Records, FileError> {
    let mut lines = text.lines().zip(1u64..).filter(|(line, _)| !line.trim().is_empty());
    let (header, _) = lines.next().ok_or(FileError::NoHeader)?;
    let columns = Columns { names: header.trim_end_matches('|').split('|').map(str::trim).collect() };
    if let Some(free) = FREE_TEXT.into_iter().find(|name| columns.at(name).is_some()) {
        return Err(FileError::FreeText(free.into()));
    }
    for (what, names) in [
        ("the job's id", &["JobIDRaw", "JobID"][..]),
        ("when it was submitted", &["Submit"]),
        ("when it started", &["Start"]),
        ("when it ended", &["End"]),
        ("what it was given", &["AllocTRES", "AllocGRES"]),
    ] {
        if names.iter().all(|name| columns.at(name).is_none()) {
            return Err(FileError::Lacks { what, remedy: REMEDY });
        }
    }
    // `-p` ends lines with a delimiter, `-P` doesn't.
    let trailing = header.ends_with('|');
    let width = columns.names.len();
    Ok(lines
        .map(|(line, number)| {
            let line = if trailing { line.strip_suffix('|').unwrap_or(line) } else { line };
            let cells: Vec<&str> = line.split('|').collect();
            let record = if cells.len() == width {
                record(&columns, &cells, options)
            } else {
                Err(RowError::Cells { got: cells.len(), want: width })
            };
            (number, record)
        })
        .collect())
}

fn record(columns: &Columns<'_>, cells: &[&str], options: &Options) -> Result<Record, RowError> {
    let cell = |name: &str| columns.at(name).map_or("", |at| cells[at].trim());
    let owned = |name: &str| cell(name).to_owned();
    let time = |name: &str| {
        options.clock.read(cell(name)).map_err(|source| RowError::Time { column: name.into(), source })
    };
    let shown = cell("JobID");
    let raw = if cell("JobIDRaw").is_empty() { shown } else { cell("JobIDRaw") };
    let first = shown.split_once('.').map_or(shown, |(job, _)| job);
    let (array_job, array_task) = match first.split_once('_') {
        Some((job, task)) => (Some(job.to_owned()), Some(task.to_owned())),
        None => (None, None),
    };
    let tres = match said(cell("AllocTRES")) {
        Some(tres) => tres.to_owned(),
        None => gres_as_tres(cell("AllocGRES")),
    };
    let suspended_ms = match said(cell("Suspended")) {
        Some(text) => duration_ms(text).ok_or_else(|| RowError::Number {
            column: "Suspended".into(),
            text: text.into(),
            want: "a duration, [DD-]HH:MM:SS",
        })?,
        None => 0,
    };
    Ok(Record {
        cluster: owned("Cluster"),
        id: raw.to_owned(),
        is_step: raw.contains('.') || shown.contains('.'),
        array_job,
        array_task,
        het_job: first.split_once('+').map(|(job, _)| job.to_owned()),
        account: owned("Account"),
        user: owned("User"),
        uid: owned("UID"),
        partition: owned("Partition"),
        qos: owned("QOS"),
        // `CANCELLED by 1000`: the first word is the state.
        states: cell("State").split_whitespace().take(1).map(str::to_owned).collect(),
        submit_ms: time("Submit")?,
        start_ms: time("Start")?,
        end_ms: time("End")?,
        suspended_ms,
        tres,
        nodes: owned("NodeList"),
    })
}

/// `gpu:a100:2`, as Slurm printed it before 21.08, as a TRES text.
fn gres_as_tres(gres: &str) -> String {
    let item = |item: &str| match item.rsplit_once(':') {
        Some((name, count)) if count.parse::<u32>().is_ok() => format!("gres/{name}={count}"),
        _ => format!("gres/{item}=1"),
    };
    gres.split(',').filter_map(said).map(item).collect::<Vec<_>>().join(",")
}

/// `[DD-]HH:MM:SS` or seconds, in milliseconds.
fn duration_ms(text: &str) -> Option<i64> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let clock = clock.split_once('.').map_or(clock, |(clock, _)| clock);
    let mut seconds = 0i64;
    for part in clock.split(':') {
        let part = part.parse::<u32>().ok()?;
        seconds = seconds.checked_mul(60)?.checked_add(i64::from(part))?;
    }
    i64::from(days.parse::<u16>().ok()?).checked_mul(86_400)?.checked_add(seconds)?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_days_and_fractions() {
        for (text, want) in
            [("10:00:00", 36_000), ("1-02:03:04", 93_784), ("02:03", 123), ("00:00:01.500", 1), ("7", 7)]
        {
            assert_eq!(duration_ms(text), Some(want * 1000), "{text}");
        }
        assert_eq!(duration_ms("a while"), None);
    }

    #[test]
    fn old_gres_reads_as_tres() {
        assert_eq!(gres_as_tres("gpu:a100:2,craynetwork:1"), "gres/gpu:a100=2,gres/craynetwork=1");
        assert_eq!(gres_as_tres("gpu"), "gres/gpu=1");
        assert_eq!(gres_as_tres(""), "");
    }
}
