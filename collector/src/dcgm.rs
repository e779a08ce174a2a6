//! What a DCGM exporter on the node says of MIG instances before Hopper, where NVML says nothing: optional evidence,
//! named as such wherever it is used.
//!
//! [`Witness`] reads the exporter's page in a thread of its own; [`WithDcgm`] puts it into readings.

mod page;
mod source;
mod witness;

pub use source::WithDcgm;
pub use witness::{Settings, Witness};

use crate::reading::Activity;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Activity by device UUID in lower case and GPU instance id.
pub type ByInstance = BTreeMap<(String, u32), Activity>;

/// The latest page; clones share it. Empty where the exporter doesn't answer.
#[derive(Debug, Clone, Default)]
pub struct Evidence(Arc<RwLock<Arc<ByInstance>>>);

impl Evidence {
    /// As of the last page.
    pub fn current(&self) -> Arc<ByInstance> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, page: ByInstance) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(page);
    }
}
