//! A FOCUS file, or any CSV of ours, read as a reader would: rows by column, decimals exact.

use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// A row's cells by column.
pub type Row = BTreeMap<String, String>;

/// The rows of a file.
///
/// # Errors
/// A row hasn't as many cells as there are columns.
pub fn rows(file: &[u8]) -> Result<Vec<Row>> {
    csv::Reader::from_reader(file).deserialize().map(|row| Ok(row?)).collect()
}

/// A decimal in 1e-15.
///
/// # Errors
/// It isn't one: every decimal has a point.
pub fn exact(cell: &str) -> Result<i128> {
    let (whole, decimals) = cell.split_once('.').context("every decimal has a point")?;
    Ok(format!("{whole}{decimals:0<15}").parse()?)
}
