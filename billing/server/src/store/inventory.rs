//! Which devices are in service: what collectors saw, and what the operator says.

use super::{Doing, Reader, StoreError, Writer};
use clickhouse::Row;
use schema::sql;
use serde::{Deserialize, Serialize};

/// A device with when it was seen and what was said of it; `None` is never.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Cluster.
    pub cluster: String,
    /// NVML UUID.
    pub device: String,
    /// Node it was last seen on, or is expected on.
    pub node: String,
    /// NVML product name.
    pub model: String,
    /// NVML index, for display.
    pub index: u32,
    /// Framebuffer in bytes; `None` where NVML didn't say.
    pub memory_bytes: Option<u64>,
    /// Compute slices under MIG; `None` where it can't do MIG.
    pub mig_slices: Option<u32>,
    /// First sight, Unix milliseconds.
    pub first_seen_ms: Option<i64>,
    /// End of the last window seen, Unix milliseconds.
    pub last_seen_ms: Option<i64>,
    /// Expected in service from, Unix milliseconds.
    pub expected_ms: Option<i64>,
    /// Retired at, Unix milliseconds.
    pub retired_ms: Option<i64>,
}

/// What the operator says of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// It is in service from an instant, seen or not.
    Expect {
        /// Node that it is in.
        node: String,
        /// NVML product name.
        model: String,
    },
    /// It is out of service from an instant.
    Retire,
}

#[derive(Row, Deserialize)]
struct Found {
    cluster_name: String,
    device_uuid: String,
    node_name: String,
    model_name: String,
    display_index: u32,
    memory_bytes: u64,
    slices: u32,
    seen_from_ms: i64,
    seen_to_ms: i64,
    expected_ms: i64,
    retired_ms: i64,
}

#[derive(Row, Serialize, Deserialize)]
struct InventoryRow {
    cluster: String,
    device: String,
    node: String,
    model: String,
    kind: i8,
    at_ms: i64,
    recorded_at_ms: i64,
}

impl Reader {
    /// Every device ever seen or expected, by cluster, node and index.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn devices(&self) -> Result<Vec<Listed>, StoreError> {
        let rows: Vec<Found> = self.query(sql::DEVICES).fetch_all().await.doing("read the inventory")?;
        let ever = |at_ms: i64| (at_ms != 0).then_some(at_ms);
        let listed = |row: Found| Listed {
            cluster: row.cluster_name,
            device: row.device_uuid,
            node: row.node_name,
            model: row.model_name,
            index: row.display_index,
            memory_bytes: (row.memory_bytes > 0).then_some(row.memory_bytes),
            mig_slices: (row.slices > 0).then_some(row.slices),
            first_seen_ms: ever(row.seen_from_ms),
            last_seen_ms: ever(row.seen_to_ms),
            expected_ms: ever(row.expected_ms),
            retired_ms: ever(row.retired_ms),
        };
        Ok(rows.into_iter().map(listed).collect())
    }
}

impl Writer {
    /// Records what the operator says of a device from `at_ms` on.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn state(
        &self,
        cluster: &str,
        device: &str,
        statement: &Statement,
        at_ms: i64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let (kind, node, model) = match statement {
            Statement::Expect { node, model } => (1, node.clone(), model.clone()),
            Statement::Retire => (2, String::new(), String::new()),
        };
        let row = InventoryRow {
            cluster: cluster.into(),
            device: device.into(),
            node,
            model,
            kind,
            at_ms,
            recorded_at_ms: now_ms,
        };
        self.insert("inventory", &[row]).await
    }
}
