//! What scrapes are answered from: pages rendered once a tick and swapped in whole, so that no scrape waits for NVML.

use crate::latest::Latest;

/// Pages and state as of one tick.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// `/metrics`.
    pub own: String,
    /// `/metrics/dcgm`.
    pub dcgm: String,
    /// Why data isn't fresh or whole; empty where it is.
    pub not_ready: Vec<String>,
    /// Boot-clock instant after which the snapshot itself is stale, milliseconds.
    pub stale_after_boot_ms: i64,
}

/// The current snapshot; clones share it.
pub type Published = Latest<Snapshot>;
