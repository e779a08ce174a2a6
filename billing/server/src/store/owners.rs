//! Owners of workloads: all of a window at once, or one after the other beside a day's usage.

use super::{Doing, Reader, StoreError};
use billing::rating::Owners;
use clickhouse::{Row, query::RowCursor};
use schema::id::WorkloadId;
use schema::owner::{Owner, OwnerKind};
use schema::sql;
use schema::window::Window;
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Row, Deserialize)]
struct OwnerFound {
    workload: u128,
    owner_kind: u8,
    owner_attributes: HashMap<String, String>,
    owner_evidence: String,
}

impl From<OwnerFound> for Owner {
    fn from(row: OwnerFound) -> Self {
        Owner {
            kind: OwnerKind::try_from(i32::from(row.owner_kind)).unwrap_or(OwnerKind::Unspecified),
            attributes: row.owner_attributes.into_iter().collect(),
            evidence: row.owner_evidence,
        }
    }
}

impl Reader {
    /// Owners of the workloads that used anything in `window`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn owners(&self, window: Window) -> Result<Owners, StoreError> {
        let rows: Vec<OwnerFound> = self.owners_query(window).fetch_all().await.doing("read owners")?;
        Ok(rows.into_iter().map(|row| (WorkloadId(row.workload), row.into())).collect())
    }

    fn owners_query(&self, window: Window) -> clickhouse::query::Query {
        self.query(sql::OWNERS).param("start_ms", window.start_ms).param("end_ms", window.end_ms)
    }
}

/// Owners of a window by workload, for a reader that asks in the same order; only one is held.
pub struct OwnerStream {
    rows: RowCursor<OwnerFound>,
    /// The last one read, which is of this workload.
    at: Option<(u128, Owner)>,
}

impl OwnerStream {
    /// Of the workloads that used anything in `window`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub fn new(reader: &Reader, window: Window) -> Result<Self, StoreError> {
        let rows = reader.owners_query(window).fetch().doing("read owners")?;
        Ok(Self { rows, at: None })
    }

    /// The owner of a workload that isn't before any that was asked for; `None` where none is known.
    ///
    /// # Errors
    /// ClickHouse fails meanwhile.
    pub async fn of(&mut self, workload: WorkloadId) -> Result<Option<&Owner>, StoreError> {
        while self.at.as_ref().is_none_or(|(at, _)| *at < workload.0) {
            let Some(row) = self.rows.next().await.doing("read owners")? else {
                self.at = None;
                return Ok(None);
            };
            self.at = Some((row.workload, row.into()));
        }
        Ok(self.at.as_ref().filter(|(at, _)| *at == workload.0).map(|(_, owner)| owner))
    }
}
