//! One struct a table that ingest appends to, in column order. The tables' files say what each column means.

use clickhouse::Row;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Where a row was made: the identity that counts it once, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Cluster of the node.
    pub cluster: String,
    /// Node.
    pub node: String,
    /// Collector start.
    pub incarnation: u128,
    /// Batch within it.
    pub sequence: u64,
    /// First 8 bytes of the SHA-256 of the encoded batch.
    pub batch_hash: u64,
}

/// The UTC hour that an instant lies in, as ClickHouse's `DateTime` (Unix seconds).
pub fn hour_s(at_ms: i64) -> u32 {
    u32::try_from(schema::window::Window::hour_of(at_ms).start_ms / 1000).unwrap_or(0)
}

/// `usage_raw`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct UsageRow {
    pub hour: u32,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub row: u32,
    pub batch_hash: u64,
    pub device: String,
    pub workload: u128,
    pub start_ms: i64,
    pub end_ms: i64,
    pub gpu_instance: i32,
    pub compute_instance: i32,
    pub profile: String,
    pub sharing: u8,
    pub share_num: u32,
    pub share_den: u32,
    pub allocated_ms: Option<u64>,
    pub resident_ms: Option<u64>,
    pub busy_ms: Option<u64>,
    pub busy_kind: u8,
    pub weight_num: u32,
    pub weight_den: u32,
    pub memory_byte_ms: Option<u64>,
    pub energy_mj: Option<u64>,
    pub held_quality: u8,
    pub busy_quality: u8,
    pub unknown_reason: u8,
}

/// `device_raw`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct DeviceRow {
    pub hour: u32,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub row: u32,
    pub batch_hash: u64,
    pub device: String,
    pub start_ms: i64,
    pub end_ms: i64,
    pub observed_ms: u64,
    pub unavailable_ms: u64,
    pub reason: u8,
    pub mig: bool,
    pub instances: Vec<(u32, u32, String, String, u32)>,
    pub stranded_num: u32,
    pub stranded_den: u32,
    pub busy_ms: Option<u64>,
    pub busy_kind: u8,
    pub energy_mj: Option<u64>,
    pub energy_reset: bool,
    pub memory_byte_ms: Option<u64>,
    pub oversubscribed: bool,
    pub free_unknown_ms: u64,
}

/// `gaps_raw`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct GapRow {
    pub hour: u32,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub row: u32,
    pub batch_hash: u64,
    pub device: String,
    pub start_ms: i64,
    pub end_ms: i64,
    pub reason: u8,
}

/// `host_memory_raw`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct HostMemoryRow {
    pub hour: u32,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub row: u32,
    pub batch_hash: u64,
    pub workload: u128,
    pub start_ms: i64,
    pub end_ms: i64,
    pub near_byte_ms: u64,
    pub far_byte_ms: u64,
}

/// `xids_raw`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct XidRow {
    pub hour: u32,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub row: u32,
    pub batch_hash: u64,
    pub device: String,
    pub at_ms: i64,
    pub number: u32,
}

/// `losses`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct LossRow {
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub first_sequence: u64,
    pub last_sequence: u64,
    pub reason: String,
    pub received_at_ms: i64,
}

/// `batches`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct BatchRow {
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub batch_hash: u64,
    pub first_hour: u32,
    pub last_hour: u32,
    pub usage_rows: u32,
    pub device_rows: u32,
    pub dead_letters: u32,
    pub boot_id: String,
    pub collector_version: String,
    pub created_at_ms: i64,
    pub received_at_ms: i64,
}

/// `owners`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct OwnerRow {
    pub workload: u128,
    pub kind: u8,
    pub attributes: HashMap<String, String>,
    pub cluster: String,
    pub node: String,
    pub evidence: String,
}

/// `devices`: one sight of a device.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct SightingRow {
    pub cluster: String,
    pub device: String,
    pub node: String,
    pub model: String,
    pub device_index: u32,
    pub pci_bus_id: String,
    pub memory_total_bytes: Option<u64>,
    pub mig_slices: Option<u32>,
    pub driver_version: String,
    pub first_seen_ms: i64,
    pub last_seen_ms: i64,
}

/// `dead_letters`.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
#[allow(missing_docs)] // the table's file explains each column
pub struct DeadLetterRow {
    pub received_at_ms: i64,
    pub cluster: String,
    pub node: String,
    pub incarnation: u128,
    pub sequence: u64,
    pub kind: String,
    pub row: u32,
    pub batch_hash: u64,
    pub reason: String,
    pub content: String,
}

/// Everything that some batches add, by table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// `usage_raw`.
    pub usage: Vec<UsageRow>,
    /// `device_raw`.
    pub devices: Vec<DeviceRow>,
    /// `gaps_raw`.
    pub gaps: Vec<GapRow>,
    /// `host_memory_raw`.
    pub host_memory: Vec<HostMemoryRow>,
    /// `xids_raw`.
    pub xids: Vec<XidRow>,
    /// `losses`.
    pub losses: Vec<LossRow>,
    /// `owners`.
    pub owners: Vec<OwnerRow>,
    /// `devices`.
    pub sightings: Vec<SightingRow>,
    /// `dead_letters`.
    pub dead_letters: Vec<DeadLetterRow>,
    /// `batches`.
    pub batches: Vec<BatchRow>,
}

impl Rows {
    /// Adds another batch's rows.
    pub fn append(&mut self, mut other: Rows) {
        self.usage.append(&mut other.usage);
        self.devices.append(&mut other.devices);
        self.gaps.append(&mut other.gaps);
        self.host_memory.append(&mut other.host_memory);
        self.xids.append(&mut other.xids);
        self.losses.append(&mut other.losses);
        self.owners.append(&mut other.owners);
        self.sightings.append(&mut other.sightings);
        self.dead_letters.append(&mut other.dead_letters);
        self.batches.append(&mut other.batches);
    }

    /// Rows of usage and devices, the two tables that grow.
    pub fn len(&self) -> usize {
        self.usage.len() + self.devices.len()
    }

    /// Whether nothing at all is in it.
    pub fn is_empty(&self) -> bool {
        *self == Rows::default()
    }
}
