//! What a line of a statement opens down to: its device-hours, who the workloads are, and their raw slices.

use super::totals::UsageFound;
use super::{Doing, Reader, StoreError};
use billing::explain::SliceRow;
use billing::rating::LineKey;
use billing::usage::UsageTotal;
use clickhouse::Row;
use schema::id::WorkloadId;
use schema::sql;
use schema::window::Window;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The most slices that are read for one line.
const SLICES_MAX: u32 = 100_000;

#[derive(Row, Deserialize)]
struct SliceFound {
    start_ms: i64,
    end_ms: i64,
    device_uuid: String,
    workload: u128,
    allocated_ms: Option<u64>,
    resident_ms: Option<u64>,
    busy_ms: Option<u64>,
    incarnation: u128,
    sequence: u64,
    row: u32,
}

impl From<SliceFound> for SliceRow {
    fn from(found: SliceFound) -> Self {
        let ms =
            |value: Option<u64>| value.map(|v| i64::try_from(v).expect("ingest bounds a time by its window"));
        SliceRow {
            window: Window::new(found.start_ms, found.end_ms),
            device: found.device_uuid,
            workload: WorkloadId(found.workload),
            origin: format!("{:032x}/{}/{}", found.incarnation, found.sequence, found.row),
            allocated_ms: ms(found.allocated_ms),
            resident_ms: ms(found.resident_ms),
            busy_ms: ms(found.busy_ms),
        }
    }
}

impl Reader {
    /// The device-hours that may be in a line: everything that is like it, of all tenants.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn line_hours(&self, key: &LineKey, window: Window) -> Result<Vec<UsageTotal>, StoreError> {
        let rows: Vec<UsageFound> = self
            .query(sql::LINE_HOURS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("model", &key.model)
            .param("profile", &key.profile)
            .param("sharing", key.sharing as i32)
            .param("share_num", key.share.num)
            .param("share_den", key.share.den)
            .param("quality", key.quality as i32)
            .param("busy_quality", key.busy_quality as i32)
            .param("unwatched", key.unwatched)
            .fetch_all()
            .await
            .doing("read the hours of a line")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The raw slices of some workloads on some devices that start in `window`, in time order.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn slices(
        &self,
        workloads: &BTreeSet<WorkloadId>,
        devices: &BTreeSet<String>,
        window: Window,
    ) -> Result<Vec<SliceRow>, StoreError> {
        let rows: Vec<SliceFound> = self
            .query(sql::SLICES)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("workloads", workloads.iter().map(|w| w.0.to_string()).collect::<Vec<_>>())
            .param("devices", devices)
            .param("limit", SLICES_MAX)
            .fetch_all()
            .await
            .doing("read the slices of a line")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}
