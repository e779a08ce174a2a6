//! The hour close in SQL: find dirty hours, roll them up under a new revision, verify, publish, drop what is superseded.
//!
//! Everything here is deterministic and safe to run twice or by two services at once: each run appends under a revision of its
//! own, and the greatest published one counts.

use super::{Doing, Partition, StoreError, Writer};
use clickhouse::{Client, Row};
use schema::sql;
use schema::window::Window;
use schema::wire::Quality;
use serde::{Deserialize, Serialize};

/// May close hours: reads raw rows, appends hourly rows, publishes and drops revisions.
#[derive(Clone)]
pub struct Closer {
    pub(super) client: Client,
}

/// An hour whose published revision doesn't fit what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct DirtyHour {
    /// Start, Unix seconds.
    pub hour_s: u32,
    /// Fingerprint of what is there, taken before the roll-up.
    pub fingerprint: u64,
    /// Whether a device is in service in it.
    pub has_devices: bool,
    /// Whether an imported run touches it.
    pub has_imports: bool,
}

#[derive(Row, Deserialize)]
struct Verified {
    hour_s: u32,
    capacity: i64,
    usage_row_count: u64,
    device_row_count: u64,
    contested_count: u64,
    broken: u64,
}

#[derive(Row, Serialize, Deserialize)]
struct PointerRow {
    hour: u32,
    revision: u64,
    fingerprint: u64,
    published_at_ms: i64,
    capacity_nano: i64,
    usage_rows: u64,
    device_rows: u64,
    contested: u64,
}

/// What a close did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closed {
    /// Hours published.
    pub hours: u64,
    /// Hours that didn't add up and were not published, Unix seconds.
    pub broken: Vec<u32>,
    /// Device-hours for which one of two collectors was chosen.
    pub contested: u64,
}

impl Closer {
    /// Dirty hours within `span` (whole hours), oldest first. `since_ms` narrows to hours touched by batches received since
    /// then; 0 looks at all.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn dirty(
        &self,
        span: Window,
        since_ms: i64,
        cuts_ms: &[i64],
    ) -> Result<Vec<DirtyHour>, StoreError> {
        self.client
            .query_raw(sql::DIRTY_HOURS)
            .param("from_s", seconds(span.start_ms))
            .param("to_s", seconds(span.end_ms))
            .param("since_ms", since_ms)
            .param("cuts", cuts_ms)
            .fetch_all()
            .await
            .doing("find dirty hours")
    }

    /// First instant at which a device was in service, Unix milliseconds; `None` where none ever was.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn first_service_ms(&self) -> Result<Option<i64>, StoreError> {
        let first: i64 =
            self.client.query_raw(sql::FIRST_SERVICE).fetch_one().await.doing("find the first device")?;
        Ok((first > 0).then_some(first))
    }

    /// The greatest revision so far; 0 where nothing is published.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn last_revision(&self) -> Result<u64, StoreError> {
        self.client
            .query_raw("SELECT max(revision) FROM hour_pointers")
            .fetch_one()
            .await
            .doing("read the last revision")
    }

    /// Rolls `hours` up under `revision`, verifies them and publishes those that add up, all at once.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached; then nothing is published.
    pub async fn close(
        &self,
        hours: &[DirtyHour],
        cuts_ms: &[i64],
        revision: u64,
        now_ms: i64,
    ) -> Result<Closed, StoreError> {
        let starts: Vec<u32> = hours.iter().map(|h| h.hour_s).collect();
        let segments: Vec<Window> =
            hours.iter().flat_map(|h| Window::hour_of(i64::from(h.hour_s) * 1000).cut_at(cuts_ms)).collect();
        // Hours of the service's life have no imports, and history has no devices: half of the statements do for either.
        let devices = hours.iter().any(|h| h.has_devices);
        let imports = hours.iter().any(|h| h.has_imports);
        let statements = [
            (devices, sql::CLOSE_USAGE, "roll up usage"),
            (devices, sql::CLOSE_DEVICE, "roll up devices"),
            (imports, sql::CLOSE_POOL_USAGE, "roll up usage of pools"),
            (imports, sql::CLOSE_POOL_DEVICE, "roll up pools"),
        ];
        for (_, statement, doing) in statements.into_iter().filter(|(needed, ..)| *needed) {
            self.client
                .query_raw(statement)
                .param("hours", &starts)
                .param("segment_starts", segments.iter().map(|s| s.start_ms).collect::<Vec<_>>())
                .param("segment_ends", segments.iter().map(|s| s.end_ms).collect::<Vec<_>>())
                .param("revision", revision)
                .param("allocated", Quality::Allocated as i32)
                .execute()
                .await
                .doing(doing)?;
        }
        let verified: Vec<Verified> = self
            .client
            .query_raw(sql::VERIFY_CLOSE)
            .param("hours", &starts)
            .param("revision", revision)
            .fetch_all()
            .await
            .doing("verify a close")?;
        let mut closed = Closed::default();
        let mut pointers = Vec::with_capacity(verified.len());
        for v in verified {
            if v.broken > 0 {
                closed.broken.push(v.hour_s);
                continue;
            }
            let hour = hours.iter().find(|h| h.hour_s == v.hour_s).expect("only these hours were rolled up");
            closed.hours += 1;
            closed.contested += v.contested_count;
            pointers.push(PointerRow {
                hour: v.hour_s,
                revision,
                fingerprint: hour.fingerprint,
                published_at_ms: now_ms,
                capacity_nano: v.capacity,
                usage_rows: v.usage_row_count,
                device_rows: v.device_row_count,
                contested: v.contested_count,
            });
        }
        Writer { client: self.client.clone() }.insert("hour_pointers", &pointers).await?;
        Ok(closed)
    }

    /// Drops revisions that were superseded before `before_ms`, and says how many partitions that were.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn drop_superseded(&self, before_ms: i64) -> Result<usize, StoreError> {
        let partitions: Vec<Partition> = self
            .client
            .query_raw(sql::SUPERSEDED_PARTITIONS)
            .param("before_ms", before_ms)
            .fetch_all()
            .await
            .doing("find superseded revisions")?;
        super::drop_partitions(&self.client, &partitions).await
    }
}

fn seconds(at_ms: i64) -> u32 {
    u32::try_from(at_ms / 1000).unwrap_or(0)
}
