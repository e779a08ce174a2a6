//! What a DCGM exporter on the node says of MIG instances before Hopper, where NVML says nothing: optional evidence,
//! named as such wherever it is used.
//!
//! A [`Witness`] reads the exporter's page in a thread of its own; [`WithDcgm`] puts it into readings.

mod page;
mod source;
mod witness;

pub use source::WithDcgm;
pub use witness::{Settings, render, start};

use crate::latest::Latest;
use crate::polled::Polled;
use crate::reading::Activity;
use std::collections::BTreeMap;

/// Activity by device UUID in lower case and GPU instance id.
pub type ByInstance = BTreeMap<(String, u32), Activity>;

/// The latest page. Empty where the exporter doesn't answer.
pub type Evidence = Latest<ByInstance>;

/// The thread that reads.
pub type Witness = Polled<ByInstance>;
