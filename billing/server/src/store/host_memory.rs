//! Host memory that workloads held, on nodes where it has tiers.

use super::{Doing, Reader, StoreError};
use billing::explain::HostMemory;
use clickhouse::Row;
use schema::id::WorkloadId;
use schema::sql;
use schema::window::Window;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Row, Deserialize)]
struct Found {
    workload: u128,
    near: u128,
    far: u128,
}

impl Reader {
    /// What these workloads held in `window`; those of which nothing was said are left out.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn host_memory(
        &self,
        workloads: &BTreeSet<WorkloadId>,
        window: Window,
    ) -> Result<BTreeMap<WorkloadId, HostMemory>, StoreError> {
        let rows: Vec<Found> = self
            .query(sql::HOST_MEMORY)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .param("workloads", workloads.iter().map(|w| w.0.to_string()).collect::<Vec<_>>())
            .fetch_all()
            .await
            .doing("read the host memory of a line's workloads")?;
        let of = |row: Found| {
            (WorkloadId(row.workload), HostMemory { near_byte_ms: row.near, far_byte_ms: row.far })
        };
        Ok(rows.into_iter().map(of).collect())
    }
}
