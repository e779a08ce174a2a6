//! `import allocations`: any CSV, with a map from its columns to fields.

use super::entry::{Entry, Options, Part};
use super::gpus::{count, fraction, milli, slice_share, slices};
use super::{FileError, RUNS_MAX, Read, Row, RowError, TEXT_BYTES_MAX, said};
use schema::hostlist;
use schema::owner::{Owner, OwnerKind, key};
use schema::share::Share;
use std::collections::BTreeMap;

mod map;
pub use map::{ColumnMap, Field, MapError};

/// Reads a CSV with a header line.
///
/// # Errors
/// The file as a whole can't be read with this map. What is wrong with a row is in the row.
pub fn read(text: &str, map: &ColumnMap, options: &Options) -> Result<Vec<Row>, FileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let wrong = |error: csv::Error| FileError::Csv(error.to_string());
    let header: Vec<String> = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
    if header.iter().all(|name| name.trim().is_empty()) {
        return Err(FileError::NoHeader);
    }
    let columns = map.locate(&header)?;
    let (mut rows, mut runs) = (Vec::new(), 0);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(wrong)? {
        let line = record.position().map_or(0, csv::Position::line);
        let read = if record.len() == header.len() {
            row(&Cells { columns: &columns, record: &record }, map.kind(), line, options)
                .map_or_else(Read::Wrong, |entry| entry.read(options))
        } else {
            Read::Wrong(RowError::Cells { got: record.len(), want: header.len() })
        };
        if let Read::Runs(found) = &read {
            runs += found.len();
            if runs > RUNS_MAX {
                return Err(FileError::TooLong);
            }
        }
        rows.push(Row { line, read });
    }
    Ok(rows)
}

/// A record's cells by field.
struct Cells<'a> {
    columns: &'a [(Field, String, usize)],
    record: &'a csv::StringRecord,
}

impl Cells<'_> {
    /// The column's name and what it says, where the field is mapped and the cell isn't empty.
    fn of(&self, field: &Field) -> Result<Option<(&str, &str)>, RowError> {
        let Some((_, column, at)) = self.columns.iter().find(|(own, ..)| own == field) else {
            return Ok(None);
        };
        let text = &self.record[*at];
        if text.len() > TEXT_BYTES_MAX {
            return Err(RowError::TooLong { column: column.clone(), bytes: text.len() });
        }
        Ok(said(text).map(|text| (column.as_str(), text)))
    }

    fn text(&self, field: &Field) -> Result<Option<String>, RowError> {
        Ok(self.of(field)?.map(|(_, text)| text.to_owned()))
    }

    fn time(&self, field: &Field, options: &Options) -> Result<Option<i64>, RowError> {
        let Some((column, text)) = self.of(field)? else { return Ok(None) };
        options.clock.read(text).map_err(|source| RowError::Time { column: column.into(), source })
    }
}

fn row(cells: &Cells<'_>, kind: OwnerKind, line: u64, options: &Options) -> Result<Entry, RowError> {
    let missing = || RowError::Missing { column: Field::Job.to_string() };
    let job = cells.text(&Field::Job)?.ok_or_else(missing)?;
    let nodes = match cells.of(&Field::Node)? {
        Some((_, text)) if hostlist::expand(text).is_some() => text.to_owned(),
        Some((column, text)) => return Err(RowError::Nodes { column: column.into(), text: text.into() }),
        None => String::new(),
    };
    let submit_ms = cells.time(&Field::Submit, options)?;
    Ok(Entry {
        cluster: cells.text(&Field::Cluster)?,
        submit_ms,
        start_ms: cells.time(&Field::Start, options)?,
        end_ms: cells.time(&Field::End, options)?,
        suspended_ms: 0,
        owner: owner(cells, kind, &job, submit_ms, line, options)?,
        nodes,
        parts: parts(cells)?,
        job,
    })
}

/// Attributes as collectors make them, so that mapping rules work unchanged.
fn owner(
    cells: &Cells<'_>,
    kind: OwnerKind,
    job: &str,
    submit_ms: Option<i64>,
    line: u64,
    options: &Options,
) -> Result<Owner, RowError> {
    let mut attributes = BTreeMap::new();
    for (field, ..) in cells.columns {
        if let (Some(attribute), Some(value)) = (field.attribute(), cells.text(field)?) {
            attributes.insert(attribute, value);
        }
    }
    let of_job = if kind == OwnerKind::Slurm { key::SLURM_JOB } else { key::POD };
    attributes.entry(of_job.into()).or_insert_with(|| job.into());
    if let (OwnerKind::Slurm, Some(submit_ms)) = (kind, submit_ms) {
        attributes.insert("slurm_submit".into(), super::entry::shown(submit_ms));
    }
    Ok(Owner { kind, attributes, evidence: format!("import of {}, line {line}: job {job}", options.file) })
}

fn parts(cells: &Cells<'_>) -> Result<Vec<Part>, RowError> {
    let model = cells.text(&Field::Model)?;
    let profile = cells.text(&Field::Profile)?.unwrap_or_default();
    let (gpus, mut share) = match cells.of(&Field::Gpus)? {
        Some((column, text)) => count(column, text)?,
        None => (1, Share::WHOLE),
    };
    if !profile.is_empty() {
        let want = "a MIG profile such as 3g.20gb";
        let number = || RowError::Number { column: Field::Profile.to_string(), text: profile.clone(), want };
        share = slice_share(slices(&profile).ok_or_else(number)?, model.as_deref());
    }
    if let Some((column, text)) = cells.of(&Field::Milli)? {
        share = milli(column, text)?;
    }
    if let Some((column, text)) = cells.of(&Field::Fraction)? {
        share = fraction(column, text)?;
    }
    let part = |part: &str, gpus, device| Part {
        part: part.into(),
        model: model.clone(),
        profile: profile.clone(),
        gpus,
        share,
        device,
    };
    let named = cells.text(&Field::Device)?.unwrap_or_default();
    let devices: Vec<&str> = named.split([' ', ';', ',']).filter(|device| !device.is_empty()).collect();
    if devices.is_empty() {
        return Ok(vec![part("", gpus, None)]);
    }
    if gpus > 0 && devices.len() != gpus as usize {
        return Err(RowError::Devices { devices: devices.len(), gpus });
    }
    let each = gpus.min(1);
    Ok(devices.into_iter().map(|device| part(device, each, Some(device.to_owned()))).collect())
}

#[cfg(test)]
mod tests;
