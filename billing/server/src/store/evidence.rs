//! What a line of a statement opens down to: who the workload is, and its raw slices.

use super::{Doing, Reader, StoreError};
use clickhouse::Row;
use schema::id::WorkloadId;
use schema::owner::{Owner, OwnerKind};
use schema::sql;
use schema::window::Window;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

#[derive(Row, Deserialize)]
struct OwnerFound {
    workload: u128,
    owner_kind: u8,
    owner_attributes: HashMap<String, String>,
    owner_evidence: String,
}

/// One raw slice of a workload on a device.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Slice {
    /// Start, Unix milliseconds.
    pub start_ms: i64,
    /// End, Unix milliseconds, not part of it.
    pub end_ms: i64,
    /// Wire number of the sharing.
    pub sharing: u8,
    /// Share held: parts.
    pub share_num: u32,
    /// Share held: parts in the whole.
    pub share_den: u32,
    /// Time a scheduler gave it.
    pub allocated_ms: Option<u64>,
    /// Time a process was there.
    pub resident_ms: Option<u64>,
    /// Busy time; `None` is unknown.
    pub busy_ms: Option<u64>,
    /// Wire number of what busy means.
    pub busy_kind: u8,
    /// Wire number of the quality of held time.
    pub held_quality: u8,
    /// Wire number of the quality of busy time.
    pub busy_quality: u8,
    /// Wire number of why busy is unknown.
    pub unknown_reason: u8,
    /// MIG profile, or empty.
    pub profile_name: String,
    /// Collector start that made it.
    pub incarnation: u128,
    /// Batch within that.
    pub sequence: u64,
    /// Row within that.
    pub row: u32,
}

impl Reader {
    /// Owners of the workloads that used anything in `window`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn owners(&self, window: Window) -> Result<BTreeMap<WorkloadId, Owner>, StoreError> {
        let rows: Vec<OwnerFound> = self
            .query(sql::OWNERS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .fetch_all()
            .await
            .doing("read owners")?;
        let owner = |row: OwnerFound| {
            let owner = Owner {
                kind: OwnerKind::try_from(i32::from(row.owner_kind)).unwrap_or(OwnerKind::Unspecified),
                attributes: row.owner_attributes.into_iter().collect(),
                evidence: row.owner_evidence,
            };
            (WorkloadId(row.workload), owner)
        };
        Ok(rows.into_iter().map(owner).collect())
    }

    /// The first `limit` raw slices of a workload on a device that start in `window`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn slices(
        &self,
        workload: WorkloadId,
        device: &str,
        window: Window,
        limit: u32,
    ) -> Result<Vec<Slice>, StoreError> {
        self.query(sql::SLICES)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("workload", workload.0)
            .param("device", device)
            .param("limit", limit)
            .fetch_all()
            .await
            .doing("read the slices of a line")
    }
}
