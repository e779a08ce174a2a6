//! What rating asks of the ledger: sums between change instants, mapped to `billing`'s nouns.

use super::{Doing, Reader, StoreError};
use billing::usage::{DeviceTotal, UsageTotal};
use clickhouse::Row;
use schema::id::WorkloadId;
use schema::share::Share;
use schema::sql;
use schema::units::NanoGpuHours;
use schema::window::Window;
use schema::wire::{BusyKind, Quality, Sharing};
use serde::Deserialize;

#[derive(Row, Deserialize)]
pub(super) struct UsageFound {
    from_ms: i64,
    to_ms: i64,
    cluster_name: String,
    node_name: String,
    device_uuid: String,
    model_name: String,
    workload: u128,
    profile_name: String,
    sharing: u8,
    share_num: u32,
    share_den: u32,
    quality: u8,
    busy_kind: u8,
    busy_quality: u8,
    unwatched: bool,
    natural: i64,
    held: i64,
    busy: i64,
    most: i64,
    unknown: i64,
    energy: i64,
    memory: u128,
    pub(super) last_ms: i64,
}

impl From<UsageFound> for UsageTotal {
    fn from(row: UsageFound) -> Self {
        UsageTotal {
            segment: Window::new(row.from_ms, row.to_ms),
            cluster: row.cluster_name,
            node: row.node_name,
            device: row.device_uuid,
            model: row.model_name,
            workload: WorkloadId(row.workload),
            profile: row.profile_name,
            sharing: Sharing::try_from(i32::from(row.sharing)).unwrap_or(Sharing::Unspecified),
            // As it was stated: reducing it here would merge keys that the close kept apart.
            share: Share { num: row.share_num, den: row.share_den },
            quality: Quality::try_from(i32::from(row.quality)).unwrap_or(Quality::Unspecified),
            busy_kind: BusyKind::try_from(i32::from(row.busy_kind)).unwrap_or(BusyKind::Unspecified),
            busy_quality: Quality::try_from(i32::from(row.busy_quality)).unwrap_or(Quality::Unspecified),
            natural_ms: row.natural,
            observed_ms: if row.unwatched { 0 } else { row.natural },
            held: NanoGpuHours(row.held),
            busy: NanoGpuHours(row.busy),
            most: NanoGpuHours(row.most),
            unknown: NanoGpuHours(row.unknown),
            energy_mj: row.energy,
            memory_byte_ms: row.memory,
        }
    }
}

#[derive(Row, Deserialize)]
pub(super) struct DeviceFound {
    from_ms: i64,
    to_ms: i64,
    cluster_name: String,
    node_name: String,
    device_uuid: String,
    model_name: String,
    capacity: i64,
    held: i64,
    free: i64,
    stranded: i64,
    unavailable: i64,
    unobserved: i64,
    busy: i64,
    ghost: i64,
    not_busy: i64,
    unknown: i64,
    energy: Option<i64>,
    energy_unattributed: i64,
    any_oversubscribed: bool,
    any_contested: bool,
}

impl From<DeviceFound> for DeviceTotal {
    fn from(row: DeviceFound) -> Self {
        DeviceTotal {
            segment: Window::new(row.from_ms, row.to_ms),
            cluster: row.cluster_name,
            node: row.node_name,
            device: row.device_uuid,
            model: row.model_name,
            capacity: NanoGpuHours(row.capacity),
            held: NanoGpuHours(row.held),
            free: NanoGpuHours(row.free),
            stranded: NanoGpuHours(row.stranded),
            unavailable: NanoGpuHours(row.unavailable),
            unobserved: NanoGpuHours(row.unobserved),
            busy: NanoGpuHours(row.busy),
            ghost: NanoGpuHours(row.ghost),
            not_busy: NanoGpuHours(row.not_busy),
            unknown: NanoGpuHours(row.unknown),
            energy_mj: row.energy,
            energy_unattributed_mj: row.energy_unattributed,
            oversubscribed: row.any_oversubscribed,
            contested: row.any_contested,
        }
    }
}

/// Which hours of a window are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Published {
    /// How many.
    pub hours: u64,
    /// Start of the first, Unix seconds.
    pub first_hour_s: u32,
    /// Start of the last, Unix seconds.
    pub last_hour_s: u32,
    /// Newest publication, Unix milliseconds.
    pub newest_ms: i64,
    /// Greatest revision.
    pub newest_revision: u64,
    /// Device-hours for which one of two collectors was chosen.
    pub contested: u64,
}

impl Reader {
    /// Sums of the usage ledger over `window`, between `changes_ms` (instants strictly inside it).
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn usage_totals(
        &self,
        window: Window,
        changes_ms: &[i64],
    ) -> Result<Vec<UsageTotal>, StoreError> {
        let rows: Vec<UsageFound> = self
            .query(sql::USAGE_TOTALS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("edges", edges(window, changes_ms))
            .fetch_all()
            .await
            .doing("sum the usage ledger")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// As [`Reader::usage_totals`], over the hours that a period was closed from.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn usage_totals_closed(
        &self,
        period: &str,
        attempt: u64,
        window: Window,
        changes_ms: &[i64],
    ) -> Result<Vec<UsageTotal>, StoreError> {
        let rows: Vec<UsageFound> = self
            .query(sql::USAGE_TOTALS_CLOSED)
            .param("period", period)
            .param("attempt", attempt)
            .param("edges", edges(window, changes_ms))
            .fetch_all()
            .await
            .doing("sum closed usage")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Sums of the device ledger over `window`, between `changes_ms`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn device_totals(
        &self,
        window: Window,
        changes_ms: &[i64],
    ) -> Result<Vec<DeviceTotal>, StoreError> {
        let rows: Vec<DeviceFound> = self
            .query(sql::DEVICE_TOTALS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("edges", edges(window, changes_ms))
            .fetch_all()
            .await
            .doing("sum the device ledger")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Which hours of `window` are published.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn published(&self, window: Window) -> Result<Published, StoreError> {
        self.query(sql::PUBLISHED_HOURS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .fetch_one()
            .await
            .doing("read which hours are published")
    }
}

/// The window's ends with every change instant inside it, ascending: no price changes between two of them.
pub(super) fn edges(window: Window, changes_ms: &[i64]) -> Vec<i64> {
    let pieces = window.cut_at(changes_ms);
    pieces.iter().map(|w| w.start_ms).chain([window.end_ms]).collect()
}
