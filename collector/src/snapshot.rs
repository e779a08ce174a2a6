//! What scrapes are answered from: pages rendered once a tick and swapped in whole, so that no scrape waits for NVML.

use std::sync::{Arc, PoisonError, RwLock};

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
#[derive(Debug, Clone, Default)]
pub struct Published(Arc<RwLock<Arc<Snapshot>>>);

impl Published {
    /// The latest.
    pub fn get(&self) -> Arc<Snapshot> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces it.
    pub fn set(&self, snapshot: Snapshot) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}
