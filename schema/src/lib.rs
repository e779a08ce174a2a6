//! The nouns every room shares: units, time, identity, shares, what a collector sends, and every line of SQL.
//!
//! Nothing here does IO. Read the modules in this order: a quantity has a unit, happens in a window, belongs to a
//! device and a workload, travels in a batch.

pub mod units;

pub mod window;

pub mod share;

pub mod id;

pub mod owner;

pub mod hostlist;

pub mod wire;

pub mod sql;
