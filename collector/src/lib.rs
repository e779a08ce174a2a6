//! The node agent: NVML is *read*, readings are *sampled* over time and *attributed* to owners, usage is *spooled* and
//! *shipped*. Modules stand in the order of that flow; what is above doesn't know what is below.
//!
//! Laws: what is handed out equals what was measured, in integers; unknown isn't zero; time that wasn't observed is a
//! gap; a batch's identity is minted once; every queue has a limit and every loss is counted; no NVML call can hold up a
//! scrape, and none that hangs costs more than its device.

pub mod config;

pub mod clock;

pub mod reading;

pub mod device;

pub mod dcgm;

pub mod owner;

mod causes;

mod command;

mod replace;

pub mod latest;

pub mod polled;

pub mod mps;

pub mod allocation;

pub mod kubernetes;

pub mod slurm;

pub mod containers;

pub mod machines;

pub mod attribution;

pub mod slice;

pub mod track;

pub mod host_memory;

pub mod absence;

pub mod sampler;

pub mod held;

pub mod batch;

pub mod node;

pub mod spool;

pub mod shipper;

pub mod snapshot;

pub mod metrics;

pub mod http;

pub mod release;

pub mod schedulers;

pub mod agent;
