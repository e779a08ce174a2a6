//! A simulated NVML library: the whole C interface, answered from a scenario, with the scenario's ground truth.
//!
//! ```text
//! scenario (TOML) -> model (integers, compiled) -> imp/* (what NVML answers at an instant)
//!                                               -> truth (what was, over a window)
//! ```
//!
//! As a cdylib it is `libnvidia-ml.so.1`; as an rlib it builds scenarios and computes truth. All state of a loaded library
//! is in its own statics, so copies of the file in one process are separate nodes. README.md has the scenario format.

mod call;
mod clock;
mod handle;
mod imp;
pub mod model;
pub mod names;
pub mod presets;
mod procfs;
pub mod scenario;
mod series;
mod side_channel;
mod state;
pub mod truth;

pub use series::Steps;
