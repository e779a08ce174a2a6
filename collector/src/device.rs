//! The driver's edge: the only module that names `nvml_wrapper`, and the only one with unsafe code.
//!
//! NVML is asked through the raw symbols of `nvml-wrapper-sys`, because several calls aren't wrapped, because the
//! wrapper's convenience methods panic on a symbol that an older driver lacks, and because every call must be timed,
//! counted and its return code kept. One thread owns a [`Session`] and everything made from it.
#![allow(unsafe_code, reason = "NVML is a C library; each block names what makes its call sound")]

mod call;
mod events;
mod gpm;
mod identity;
mod links;
mod mig;
mod processes;
mod session;
mod slot;
mod threaded;
mod utilization;
mod vgpu;

pub use session::{NvmlSource, forget_mps_view};
pub use threaded::ThreadedSource;
