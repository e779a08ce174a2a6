//! Ingest: a delivery is decoded, each batch judged on its own, each row on its own, and everything stored before it is
//! answered.
//!
//! What can't be counted is kept as a dead letter with its reason; nothing is dropped in silence, and one bad row refuses
//! nothing else.

pub mod body;

pub mod accept;

pub mod check;

pub mod queue;
