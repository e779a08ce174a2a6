//! The arithmetic of a bill.
pub mod usage;
