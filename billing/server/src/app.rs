//! What a request may reach.

use crate::current::Current;
use crate::ingest::queue::Queue;
use crate::keyring::Keyring;
use crate::metrics::Metrics;
use crate::store::{Reader, Writer};
use std::sync::Arc;

/// Shared by every request.
#[derive(Clone)]
pub struct App {
    /// Reads the ledger.
    pub reader: Reader,
    /// Appends what enrolment makes.
    pub writer: Writer,
    /// Takes rows.
    pub queue: Queue,
    /// Knows credentials and tokens.
    pub keyring: Arc<Keyring>,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Configuration, prices and tenants.
    pub config: Current,
}
