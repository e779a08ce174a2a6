//! What runs beside requests. Every job is idempotent and safe to run twice at once.

pub mod close;

pub mod rate;

pub mod settle;

pub mod ended_use;

pub mod reload;
