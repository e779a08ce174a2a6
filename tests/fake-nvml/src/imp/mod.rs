//! What NVML answers, by chapter of its manual. build.rs stubs every name that no file here implements as NOT_SUPPORTED.
#![allow(
    unsafe_code,
    reason = "a C interface: its names are exported and its callers' pointers written through"
)]

mod accounting;
mod device;
mod event;
mod field;
mod gpm;
mod health;
mod instance;
mod memory;
mod mig;
mod power;
mod process;
mod process_utilization;
mod sampled;
mod system;
mod utilization;
mod vgpu;

/// Every other name that NVML exports.
mod stubs {
    #![allow(non_snake_case, missing_docs, reason = "they are NVML's names, documented by NVIDIA")]
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}

/// Assigns every implementation to the typed field of the bindings, so that a wrong argument doesn't compile.
mod check {
    use super::accounting::*;
    use super::device::*;
    use super::event::*;
    use super::field::*;
    use super::gpm::*;
    use super::health::*;
    use super::instance::*;
    use super::memory::*;
    use super::mig::*;
    use super::power::*;
    use super::process::*;
    use super::process_utilization::*;
    use super::system::*;
    use super::utilization::*;
    use super::vgpu::*;
    include!(concat!(env!("OUT_DIR"), "/check.rs"));
}
const _: fn(&mut nvml_wrapper_sys::bindings::NvmlLib) = check::check;
