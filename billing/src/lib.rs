//! The arithmetic of a bill: usage and capacity in, statements out. No async, no clock, no float, no IO.
//!
//! Modules in the order that money flows: raw slices and a scheduler's history
//! are rolled up to hours, a period says which hours, the price book
//! and the tenants say what and whose, rating makes lines, a statement reports them, export writes them.

pub mod usage;

pub mod import;

pub mod rollup;

pub mod money;

pub mod instant;

pub mod period;

pub mod place;

pub mod glob;

mod wide;

mod fixed;

mod split;

pub mod policy;

pub mod price;

pub mod charge;

pub mod tenant;

pub mod rating;

pub mod post;

pub mod mapping;

pub mod statement;

pub mod bill;

pub mod closing;

pub mod explain;

pub mod opened;

pub mod grouping;

pub mod words;

pub mod export;
