//! The simulated library through its front door: the built `.so`, loaded as a collector loads it.

#![allow(clippy::unwrap_used, reason = "a test that meets an error fails")]

mod captures;
mod energy;
mod exports;
mod faults;
mod identity;
mod interface;
mod mig;
mod node;
mod processes;
mod scenarios;
mod utilization;
mod virtual_machines;
