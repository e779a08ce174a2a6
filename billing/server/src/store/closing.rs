//! Closed periods and what is posted to open ones: written once, read as they were written.

use super::charges::{HourRevision, PieceFound, RatedFrom};
use super::totals::UsageFound;
use super::{Doing, Reader, StoreError, Writer};
use billing::bill::DevicePiece;
use billing::closing::{LateNode, Sealed};
use billing::rating::LineKey;
use billing::tenant::TenantId;
use billing::usage::UsageTotal;
use clickhouse::Row;
use schema::sql;
use schema::units::NanoGpuHours;
use schema::window::Window;
use serde::{Deserialize, Serialize};

/// How a period was closed.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Closing {
    /// Under which its rows are.
    pub attempt: u64,
    /// Hash of everything that went in.
    pub manifest_id: String,
    /// [`billing::closing::Manifest`], JSON.
    pub manifest: String,
    /// Who closed it.
    pub author: String,
    /// When, Unix milliseconds.
    pub closed_at_ms: i64,
}

/// A row of `period_closings`.
#[derive(Debug, Clone, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct ClosingRow {
    pub period: String,
    pub attempt: u64,
    pub manifest_id: String,
    pub manifest: String,
    pub author: String,
    pub closed_at_ms: i64,
}

/// A row of `postings`.
#[derive(Debug, Clone, PartialEq, Eq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct PostingRow {
    pub period: String,
    pub posting_id: String,
    pub kind: String,
    pub author: String,
    pub reason: String,
    pub content: String,
    pub posted_at_ms: i64,
}

#[derive(Row, Deserialize)]
pub(super) struct PostingFound {
    period_label: String,
    posting_id: String,
    kind_name: String,
    author: String,
    reason: String,
    content: String,
    posted_at_ms: i64,
}

impl From<PostingFound> for PostingRow {
    fn from(found: PostingFound) -> Self {
        Self {
            period: found.period_label,
            posting_id: found.posting_id,
            kind: found.kind_name,
            author: found.author,
            reason: found.reason,
            content: found.content,
            posted_at_ms: found.posted_at_ms,
        }
    }
}

#[derive(Row, Serialize, Deserialize)]
struct SealedRow {
    period: String,
    attempt: u64,
    owner: String,
    content: String,
}

#[derive(Row, Deserialize)]
struct NodeFound {
    cluster_name: String,
    node_name: String,
}

impl Reader {
    /// How a period was closed; `None` where it isn't.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn closing(&self, period: &str) -> Result<Option<Closing>, StoreError> {
        self.query(sql::PERIOD_CLOSING)
            .param("period", period)
            .fetch_optional()
            .await
            .doing("read how a period was closed")
    }

    /// The documents of an attempt to close a period.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn sealed(&self, period: &str, attempt: u64) -> Result<Vec<Sealed>, StoreError> {
        let rows: Vec<(String, String)> = self
            .query("SELECT toString(owner), content FROM closed_statements WHERE period = {period:String} AND attempt = {attempt:UInt64} ORDER BY owner")
            .param("period", period)
            .param("attempt", attempt)
            .fetch_all()
            .await
            .doing("read closed statements")?;
        Ok(rows.into_iter().map(|(owner, content)| Sealed { owner, content }).collect())
    }

    /// The checksum of the rows that an attempt copied.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn closed_checksum(&self, period: &str, attempt: u64) -> Result<String, StoreError> {
        self.query(sql::CLOSED_CHECKSUM)
            .param("period", period)
            .param("attempt", attempt)
            .fetch_one()
            .await
            .doing("check closed rows")
    }

    /// Device time in service that an attempt copied.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn closed_capacity(&self, period: &str, attempt: u64) -> Result<NanoGpuHours, StoreError> {
        let nano: i64 = self
            .query("SELECT sum(capacity_nano) FROM device_closed WHERE period = {period:String} AND attempt = {attempt:UInt64}")
            .param("period", period)
            .param("attempt", attempt)
            .fetch_one()
            .await
            .doing("check closed devices")?;
        Ok(NanoGpuHours(nano))
    }

    /// Whether the charges that an attempt copied hold what its devices say was held.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn closed_charges_fit(&self, period: &str, attempt: u64) -> Result<bool, StoreError> {
        let held = "SELECT toUInt8(ifNull( \
                    (SELECT sum(held_nano) FROM charges_closed WHERE period = {period:String} AND attempt = {attempt:UInt64}) \
                    = (SELECT sum(held_nano) FROM device_closed WHERE period = {period:String} AND attempt = {attempt:UInt64}), 0))";
        let fit: u8 = self
            .query(held)
            .param("period", period)
            .param("attempt", attempt)
            .fetch_one()
            .await
            .doing("check closed charges")?;
        Ok(fit == 1)
    }

    /// A tenant's charges of a closed period, by line, device and day.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached; a key that this version can't read.
    pub async fn closed_pieces(
        &self,
        period: &str,
        attempt: u64,
        tenant: &TenantId,
    ) -> Result<Vec<DevicePiece>, StoreError> {
        let rows: Vec<PieceFound> = self
            .query(sql::CHARGE_PIECES_CLOSED)
            .param("period", period)
            .param("attempt", attempt)
            .param("tenant", tenant.as_str())
            .fetch_all()
            .await
            .doing("read closed charges by device")?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    /// What was posted to some periods, by time.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn postings(&self, periods: &[String]) -> Result<Vec<PostingRow>, StoreError> {
        let rows: Vec<PostingFound> =
            self.query(sql::POSTINGS).param("periods", periods).fetch_all().await.doing("read postings")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// All corrections, by time.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn corrections(&self) -> Result<Vec<PostingRow>, StoreError> {
        let rows: Vec<PostingFound> =
            self.query(sql::CORRECTIONS).fetch_all().await.doing("read corrections")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Nodes that still have to deliver up to an instant.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn late_nodes(&self, end_ms: i64) -> Result<Vec<LateNode>, StoreError> {
        let rows: Vec<NodeFound> = self
            .query(sql::LATE_NODES)
            .param("end_ms", end_ms)
            .fetch_all()
            .await
            .doing("find late collectors")?;
        Ok(rows.into_iter().map(|n| LateNode { cluster: n.cluster_name, node: n.node_name }).collect())
    }

    /// Rows that ingest refused in a window.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn dead_letters(&self, window: Window) -> Result<u64, StoreError> {
        self.query(sql::DEAD_LETTERS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .fetch_one()
            .await
            .doing("count dead letters")
    }

    /// The content of a version of a configuration file.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn config_content(&self, name: &str, hash: &str) -> Result<Option<String>, StoreError> {
        self.query(sql::CONFIG_CONTENT)
            .param("name", name)
            .param("hash", hash)
            .fetch_optional()
            .await
            .doing("read a version of a configuration file")
    }

    /// The device-hours that may be in a line of a closed period.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn line_hours_closed(
        &self,
        key: &LineKey,
        period: &str,
        attempt: u64,
    ) -> Result<Vec<UsageTotal>, StoreError> {
        let rows: Vec<UsageFound> = super::evidence::of_line(self.query(sql::LINE_HOURS_CLOSED), key)
            .param("period", period)
            .param("attempt", attempt)
            .fetch_all()
            .await
            .doing("read the hours of a line")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}

impl Writer {
    /// Copies the hours that a period is closed from, and the charges of its days, under an attempt.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn copy_closed(
        &self,
        period: &str,
        attempt: u64,
        window: Window,
        hours: &[HourRevision],
        days: &[RatedFrom],
    ) -> Result<(), StoreError> {
        for (statement, doing) in [
            (sql::COPY_USAGE_CLOSED, "copy a period's usage"),
            (sql::COPY_DEVICE_CLOSED, "copy a period's devices"),
        ] {
            self.client
                .query_raw(statement)
                .param("period", period)
                .param("attempt", attempt)
                .param("start_ms", window.start_ms)
                .param("end_ms", window.end_ms)
                .param("hours", hours.iter().map(|h| h.hour_s).collect::<Vec<_>>())
                .param("hour_revisions", hours.iter().map(|h| h.hour_revision).collect::<Vec<_>>())
                .execute()
                .await
                .doing(doing)?;
        }
        self.client
            .query_raw(sql::COPY_CHARGES_CLOSED)
            .param("period", period)
            .param("attempt", attempt)
            .param("days", days.iter().map(|d| d.day_s).collect::<Vec<_>>())
            .param("day_revisions", days.iter().map(|d| d.day_revision).collect::<Vec<_>>())
            .execute()
            .await
            .doing("copy a period's charges")
    }

    /// Keeps the documents of an attempt to close a period.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn keep_sealed(&self, period: &str, attempt: u64, sealed: &[Sealed]) -> Result<(), StoreError> {
        let rows: Vec<SealedRow> = sealed
            .iter()
            .map(|s| SealedRow {
                period: period.into(),
                attempt,
                owner: s.owner.clone(),
                content: s.content.clone(),
            })
            .collect();
        self.insert("closed_statements", &rows).await
    }

    /// Names the attempt that closes a period. Where another was named first this one vanishes: read which counts.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn name_closing(&self, row: &ClosingRow) -> Result<(), StoreError> {
        let mut insert = self
            .client
            .insert::<ClosingRow>("period_closings")
            .await
            .doing("open an insert")?
            .with_setting("insert_deduplicate", "1")
            .with_setting("insert_deduplication_token", format!("close {}", row.period));
        insert.write(row).await.doing("send rows")?;
        insert.end().await.doing("name what closed a period")
    }

    /// Drops what an attempt that wasn't named has written.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn drop_attempt(&self, period: &str, attempt: u64) -> Result<(), StoreError> {
        for table in ["usage_closed", "device_closed", "charges_closed", "closed_statements"] {
            self.client
                .query_raw(
                    "ALTER TABLE {table:Identifier} DROP PARTITION tuple({period:String}, {attempt:UInt64})",
                )
                .param("table", table)
                .param("period", period)
                .param("attempt", attempt)
                .execute()
                .await
                .doing("drop an attempt to close a period")?;
        }
        Ok(())
    }

    /// Posts to an open period. The same posting twice is one.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn post(&self, row: &PostingRow) -> Result<(), StoreError> {
        self.insert("postings", std::slice::from_ref(row)).await
    }
}
