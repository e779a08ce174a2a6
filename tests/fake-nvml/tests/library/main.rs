//! The simulated library through its front door: the built `.so`, loaded as a collector loads it.

mod captures;
mod energy;
mod exports;
mod faults;
mod identity;
mod mig;
mod node;
mod processes;
mod scenarios;
mod utilization;
mod virtual_machines;
