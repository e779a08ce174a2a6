//! The daily charges: written by rating under a revision of a day, and read by statements.

use super::totals::{DeviceFound, UsageFound, edges};
use super::{Doing, Reader, StoreError, Writer};
use billing::bill::DevicePiece;
use billing::rating::{LineKey, Sums};
use billing::tenant::TenantId;
use billing::usage::{DeviceTotal, UsageTotal};
use clickhouse::{Row, query::RowCursor};
use schema::sql;
use schema::units::NanoGpuHours;
use schema::window::Window;
use serde::{Deserialize, Serialize};

/// An hour and the revision of it that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Row, Deserialize)]
pub struct HourRevision {
    /// Start of the hour, Unix seconds.
    pub hour_s: u32,
    /// Its revision.
    pub hour_revision: u64,
}

/// A row of `charges`.
#[derive(Debug, Clone, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct ChargeRow {
    pub day: u32,
    pub revision: u64,
    pub start_ms: i64,
    pub end_ms: i64,
    pub tenant: String,
    pub line: String,
    pub cluster: String,
    pub node: String,
    pub device: String,
    pub model: String,
    pub natural_ms: i64,
    pub observed_ms: i64,
    pub held_nano: i64,
    pub charged_nano: i64,
    pub busy_nano: i64,
    pub unknown_nano: i64,
    pub energy_mj: i64,
    pub memory_byte_ms: u128,
}

/// A row of `rated_days`.
#[derive(Debug, Clone, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct RatedDayRow {
    pub rules: String,
    pub day: u32,
    pub revision: u64,
    pub fingerprint: u64,
    pub rated_at_ms: i64,
    pub held_nano: i64,
}

/// What a day was last rated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct RatedFrom {
    /// Start of the day, Unix seconds.
    pub day_s: u32,
    /// Of the hours' revisions.
    pub day_fingerprint: u64,
    /// Under which it was rated.
    pub day_revision: u64,
}

#[derive(Row, Deserialize)]
struct LineFound {
    tenant_id: String,
    line_key: String,
    first_ms: i64,
    last_ms: i64,
    natural: i64,
    observed: i64,
    held: i64,
    charged: i64,
    busy: i64,
    unknown: i64,
    energy: i64,
    memory: u128,
}

#[derive(Row, Deserialize)]
pub(super) struct PieceFound {
    from_ms: i64,
    to_ms: i64,
    tenant_id: String,
    line_key: String,
    cluster_name: String,
    node_name: String,
    device_uuid: String,
    model_name: String,
    natural: i64,
    observed: i64,
    held: i64,
    charged: i64,
    busy: i64,
    unknown: i64,
    energy: i64,
    memory: u128,
}

impl TryFrom<PieceFound> for DevicePiece {
    type Error = StoreError;

    fn try_from(row: PieceFound) -> Result<Self, StoreError> {
        let segment = Window::new(row.from_ms, row.to_ms);
        Ok(DevicePiece {
            tenant: tenant_of(&row.tenant_id)?,
            key: key_of(&row.line_key)?,
            cluster: row.cluster_name,
            node: row.node_name,
            device: row.device_uuid,
            model: row.model_name,
            segment,
            sums: Sums {
                span: segment,
                natural_ms: row.natural,
                observed_ms: row.observed,
                held: NanoGpuHours(row.held),
                charged: NanoGpuHours(row.charged),
                busy: NanoGpuHours(row.busy),
                unknown: NanoGpuHours(row.unknown),
                energy_mj: row.energy,
                memory_byte_ms: row.memory,
            },
        })
    }
}

#[derive(Row, Deserialize)]
struct HeldFound {
    tenant_id: String,
    device_uuid: String,
    held: i64,
}

#[derive(Row, Deserialize)]
struct HeldSums {
    by_charges: i64,
    by_devices: i64,
}

/// Rows of a day's usage, one at a time: a day of a large fleet isn't held in memory.
pub struct DayUsage(RowCursor<UsageFound>);

impl DayUsage {
    /// The next row, with where the last hour in it ends (Unix milliseconds); `None` after the last.
    ///
    /// # Errors
    /// ClickHouse fails meanwhile.
    pub async fn next(&mut self) -> Result<Option<(UsageTotal, i64)>, StoreError> {
        let row = self.0.next().await.doing("read a day's usage")?;
        Ok(row.map(|row| {
            let last_ms = row.last_ms;
            (row.into(), last_ms)
        }))
    }
}

/// Which days are read: those of a window, as some rules rated them.
#[derive(Debug, Clone, Copy)]
pub struct Days<'a> {
    /// Name of the rules.
    pub rules: &'a str,
    /// Whole local days.
    pub window: Window,
}

impl Reader {
    /// The published revision of each hour that touches a window, by time.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn revisions(&self, window: Window) -> Result<Vec<HourRevision>, StoreError> {
        self.query(sql::PUBLISHED_REVISIONS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .fetch_all()
            .await
            .doing("read which revisions are published")
    }

    /// The greatest revision of a day so far; 0 where none is rated.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn last_day_revision(&self) -> Result<u64, StoreError> {
        self.query("SELECT max(revision) FROM rated_days")
            .fetch_one()
            .await
            .doing("read the last revision of a day")
    }

    /// What the days were rated from.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn rated_from(&self, days: Days<'_>) -> Result<Vec<RatedFrom>, StoreError> {
        self.of_days(sql::RATED_FINGERPRINTS, days).fetch_all().await.doing("read which days are rated")
    }

    /// A day's usage from stated revisions of its hours, between change instants, by workload.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub fn day_usage(
        &self,
        day: Window,
        changes_ms: &[i64],
        hours: &[HourRevision],
    ) -> Result<DayUsage, StoreError> {
        let cursor = self
            .query(sql::DAY_USAGE)
            .param("start_ms", day.start_ms)
            .param("end_ms", day.end_ms)
            .param("edges", edges(day, changes_ms))
            .param("hours", hours.iter().map(|h| h.hour_s).collect::<Vec<_>>())
            .param("hour_revisions", hours.iter().map(|h| h.hour_revision).collect::<Vec<_>>())
            .fetch()
            .doing("read a day's usage")?;
        Ok(DayUsage(cursor))
    }

    /// Sums by tenant and line; of one tenant where it is named.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached; a key that this version can't read.
    pub async fn charge_lines(
        &self,
        days: Days<'_>,
        tenant: Option<&TenantId>,
    ) -> Result<Vec<(TenantId, LineKey, Sums)>, StoreError> {
        let rows: Vec<LineFound> = self
            .of_days(sql::CHARGE_LINES, days)
            .param("tenant", tenant.map_or("", TenantId::as_str))
            .fetch_all()
            .await
            .doing("sum charges by line")?;
        rows.into_iter()
            .map(|row| {
                let sums = Sums {
                    span: Window::new(row.first_ms, row.last_ms),
                    natural_ms: row.natural,
                    observed_ms: row.observed,
                    held: NanoGpuHours(row.held),
                    charged: NanoGpuHours(row.charged),
                    busy: NanoGpuHours(row.busy),
                    unknown: NanoGpuHours(row.unknown),
                    energy_mj: row.energy,
                    memory_byte_ms: row.memory,
                };
                Ok((tenant_of(&row.tenant_id)?, key_of(&row.line_key)?, sums))
            })
            .collect()
    }

    /// Sums by tenant, line and device, between `edges_ms` (instants strictly inside the window); of one tenant where it is
    /// named.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached; a key that this version can't read.
    pub async fn charge_pieces(
        &self,
        days: Days<'_>,
        edges_ms: &[i64],
        tenant: Option<&TenantId>,
    ) -> Result<Vec<DevicePiece>, StoreError> {
        let rows: Vec<PieceFound> = self
            .of_days(sql::CHARGE_PIECES, days)
            .param("edges", edges(days.window, edges_ms))
            .param("tenant", tenant.map_or("", TenantId::as_str))
            .fetch_all()
            .await
            .doing("sum charges by device")?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    /// Device time held, by tenant and device; of one tenant where it is named.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn charge_devices(
        &self,
        days: Days<'_>,
        tenant: Option<&TenantId>,
    ) -> Result<Vec<(TenantId, String, NanoGpuHours)>, StoreError> {
        let rows: Vec<HeldFound> = self
            .of_days(sql::CHARGE_DEVICES, days)
            .param("tenant", tenant.map_or("", TenantId::as_str))
            .fetch_all()
            .await
            .doing("sum charges by device")?;
        rows.into_iter()
            .map(|row| Ok((tenant_of(&row.tenant_id)?, row.device_uuid, NanoGpuHours(row.held))))
            .collect()
    }

    /// Sums of the device ledger between change instants; of the devices that a tenant held a part of where one is named.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn device_days(
        &self,
        days: Days<'_>,
        changes_ms: &[i64],
        tenant: Option<&TenantId>,
    ) -> Result<Vec<DeviceTotal>, StoreError> {
        let rows: Vec<DeviceFound> = self
            .of_days(sql::DEVICE_TOTALS_RATED, days)
            .param("edges", edges(days.window, changes_ms))
            .param("tenant", tenant.map_or("", TenantId::as_str))
            .fetch_all()
            .await
            .doing("sum the device ledger")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    fn of_days(&self, sql: &str, days: Days<'_>) -> clickhouse::query::Query {
        self.query(sql)
            .param("rules", days.rules)
            .param("start_ms", days.window.start_ms)
            .param("end_ms", days.window.end_ms)
    }
}

impl Writer {
    /// Appends a day's charges and devices under a revision and publishes both, if they say the same of what was held.
    /// `day` carries the revision.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached, or the two differ; then nothing is published.
    pub async fn post_day(
        &self,
        window: Window,
        changes_ms: &[i64],
        hours: &[HourRevision],
        charges: impl Iterator<Item = ChargeRow>,
        day: RatedDayRow,
    ) -> Result<(), StoreError> {
        self.insert_each::<ChargeRow, _>("charges", charges).await?;
        self.client
            .query_raw(sql::POST_DEVICE_DAYS)
            .param("day_s", day.day)
            .param("revision", day.revision)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("edges", edges(window, changes_ms))
            .param("hours", hours.iter().map(|h| h.hour_s).collect::<Vec<_>>())
            .param("hour_revisions", hours.iter().map(|h| h.hour_revision).collect::<Vec<_>>())
            .execute()
            .await
            .doing("post a day's devices")?;
        let held: HeldSums = self
            .client
            .query_raw(sql::RATED_HELD)
            .param("day_s", day.day)
            .param("revision", day.revision)
            .fetch_one()
            .await
            .doing("verify a rated day")?;
        if held.by_charges != held.by_devices {
            return Err(StoreError::HeldDiffers {
                day_s: day.day,
                charges: NanoGpuHours(held.by_charges),
                devices: NanoGpuHours(held.by_devices),
            });
        }
        self.insert("rated_days", &[RatedDayRow { held_nano: held.by_charges, ..day }]).await
    }

    /// Drops revisions of days that no reader can see any more, and says how many partitions that were. `rules` are those in
    /// force.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn drop_superseded_days(&self, rules: &str, before_ms: i64) -> Result<usize, StoreError> {
        let partitions = self
            .client
            .query_raw(sql::SUPERSEDED_DAYS)
            .param("rules", rules)
            .param("before_ms", before_ms)
            .fetch_all()
            .await
            .doing("find superseded days")?;
        super::drop_partitions(&self.client, &partitions).await
    }
}

fn tenant_of(text: &str) -> Result<TenantId, StoreError> {
    TenantId::parse(text).map_err(|e| StoreError::Unreadable { what: "a tenant", why: e.to_string() })
}

fn key_of(text: &str) -> Result<LineKey, StoreError> {
    serde_json::from_str(text)
        .map_err(|e| StoreError::Unreadable { what: "a line of the charges", why: e.to_string() })
}
