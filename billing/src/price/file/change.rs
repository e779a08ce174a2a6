//! `[[change]]`: why the past was rewritten.

use super::Row;
use crate::price::{PriceError, Reason};
use serde::Deserialize;

/// A `[[change]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeRow {
    entry: String,
    reason: String,
}

/// One `[[change]]`. Its entry may be gone: that is one way to change it.
pub(super) fn read(row: &Row, from: ChangeRow) -> Result<Reason, PriceError> {
    row.filled("entry", &from.entry)?;
    row.filled("reason", &from.reason)?;
    Ok(Reason { entry: from.entry, reason: from.reason })
}
