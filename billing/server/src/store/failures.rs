//! What failed, who held it up to then, and what those had held: what credits for lost work are proposed from.

use super::closing::{PostingFound, PostingRow};
use super::totals::UsageFound;
use super::{Doing, Reader, StoreError};
use billing::policy::{FATAL_XIDS, FailureReason};
use billing::post::credit::Failure;
use billing::usage::UsageTotal;
use clickhouse::Row;
use schema::id::WorkloadId;
use schema::sql;
use schema::window::Window;
use schema::wire::Reason;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// How much earlier than its device a workload may have ended and still have held it: a few process lists.
const SLACK_MS: i64 = 60_000;

#[derive(Row, Deserialize)]
struct FailureFound {
    cluster_name: String,
    node_name: String,
    device_uuid: String,
    at_ms: i64,
    why: u8,
}

#[derive(Row, Deserialize)]
struct XidFound {
    cluster_name: String,
    node_name: String,
    device_uuid: String,
    at_ms: i64,
    number: u32,
}

#[derive(Row, Deserialize)]
struct HolderFound {
    device_uuid: String,
    at_ms: i64,
    workload: u128,
}

impl From<FailureFound> for Failure {
    fn from(found: FailureFound) -> Self {
        let node_failed = i32::from(found.why) == Reason::NodeFailed as i32;
        Self {
            cluster: found.cluster_name,
            node: found.node_name,
            device: found.device_uuid,
            at_ms: found.at_ms,
            reason: if node_failed { FailureReason::NodeFailed } else { FailureReason::GpuLost },
            detail: String::new(),
            holders: BTreeSet::new(),
        }
    }
}

impl From<XidFound> for Failure {
    fn from(found: XidFound) -> Self {
        Self {
            cluster: found.cluster_name,
            node: found.node_name,
            device: found.device_uuid,
            at_ms: found.at_ms,
            reason: FailureReason::FatalXid,
            detail: format!("XID {}", found.number),
            holders: BTreeSet::new(),
        }
    }
}

impl Reader {
    /// Devices that failed in a window and were held, by time, with the workloads that held them.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn failures(&self, window: Window) -> Result<Vec<Failure>, StoreError> {
        let out_of_use: Vec<FailureFound> = self
            .query(sql::FAILURES)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("reasons", vec![Reason::GpuLost as u8, Reason::NodeFailed as u8])
            .fetch_all()
            .await
            .doing("find devices that failed")?;
        let xids: Vec<XidFound> = self
            .query(sql::FATAL_XIDS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("numbers", FATAL_XIDS.to_vec())
            .fetch_all()
            .await
            .doing("find fatal XIDs")?;
        let mut failures: Vec<Failure> =
            out_of_use.into_iter().map(Failure::from).chain(xids.into_iter().map(Failure::from)).collect();
        if failures.is_empty() {
            return Ok(failures);
        }
        failures.sort_by(|a, b| (a.at_ms, &a.cluster, &a.device).cmp(&(b.at_ms, &b.cluster, &b.device)));
        let holders: Vec<HolderFound> = self
            .query(sql::FAILURE_HOLDERS)
            .param("devices", failures.iter().map(|f| f.device.as_str()).collect::<Vec<_>>())
            .param("instants", failures.iter().map(|f| f.at_ms).collect::<Vec<_>>())
            .param("slack_ms", SLACK_MS)
            .fetch_all()
            .await
            .doing("find who held devices that failed")?;
        let mut held: BTreeMap<(String, i64), BTreeSet<WorkloadId>> = BTreeMap::new();
        for holder in holders {
            let of = held.entry((holder.device_uuid, holder.at_ms)).or_default();
            of.insert(WorkloadId(holder.workload));
        }
        for failure in &mut failures {
            let holders = held.get(&(failure.device.clone(), failure.at_ms));
            failure.holders = holders.cloned().unwrap_or_default();
        }
        failures.retain(|failure| !failure.holders.is_empty());
        Ok(failures)
    }

    /// The usage ledger of some workloads in a window, by the hour.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn workload_hours(
        &self,
        workloads: &BTreeSet<WorkloadId>,
        window: Window,
    ) -> Result<Vec<UsageTotal>, StoreError> {
        let rows: Vec<UsageFound> = self
            .query(sql::WORKLOAD_HOURS)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("workloads", workloads.iter().map(|w| w.0.to_string()).collect::<Vec<_>>())
            .fetch_all()
            .await
            .doing("read the hours of workloads")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Approved credits for lost work, by time.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn credits(&self) -> Result<Vec<PostingRow>, StoreError> {
        let rows: Vec<PostingFound> =
            self.query(sql::CREDITS).fetch_all().await.doing("read approved credits")?;
        Ok(rows.into_iter().map(Into::into).collect())
    }
}
