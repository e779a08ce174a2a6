//! Accounting of finished processes: off, as on most machines, and not to be turned on without root.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlAccountingStats_t, nvmlEnableState_t};

use crate::call::{Code, device_calls, put};

device_calls! {
    /// Off.
    fn nvmlDeviceGetAccountingMode(device, mode: *mut nvmlEnableState_t) {
        device.whole()?;
        put(mode, 0)
    }

    /// Not without root.
    fn nvmlDeviceSetAccountingMode(device, _mode: nvmlEnableState_t) {
        device.whole()?;
        Err(Code::NO_PERMISSION)
    }

    /// How many processes it would remember.
    fn nvmlDeviceGetAccountingBufferSize(device, size: *mut c_uint) {
        device.whole()?;
        put(size, 4000)
    }

    /// It remembers none.
    fn nvmlDeviceGetAccountingPids(device, count: *mut c_uint, _pids: *mut c_uint) {
        device.whole()?;
        put(count, 0)
    }

    /// It remembers none.
    fn nvmlDeviceGetAccountingStats(device, _pid: c_uint, _stats: *mut nvmlAccountingStats_t) {
        device.whole()?;
        Err(Code::NOT_FOUND)
    }
}
