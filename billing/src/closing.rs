//! Closing a period: what stands in its way, what it was made of, and what would be different now.
//!
//! A closed period never changes. Its statements are kept as they were posted, a manifest names by hash everything that
//! they were made of, and what is known later becomes correction rows in an open period.

mod check;
mod diff;
mod manifest;
pub use check::{Facts, Finding, Item, LateNode, findings};
pub use diff::{Correction, Delta, RowId, corrections, diff};
pub use manifest::{HourPin, Inputs, Manifest, Pinned, Sealed, Waiver, seal};
