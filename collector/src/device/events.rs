//! XIDs: what the driver says went wrong, fetched without waiting.

use super::call::{Calls, nvml};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};

/// `nvmlEventTypeXidCriticalError`.
const XID: u64 = 0x8;

/// A storm of events must not hold up a tick.
const EVENTS_PER_TICK_MAX: usize = 64;

/// The driver's event set; freed by [`Events::free`], which needs the library.
pub(super) struct Events {
    set: Option<nvmlEventSet_t>,
}

impl Events {
    /// A set without devices, or nothing where the driver has no events.
    pub fn new(calls: &Calls) -> Self {
        let mut set = std::ptr::null_mut();
        let complete = calls.lib().nvmlEventSetFree.is_ok();
        Self { set: (complete && nvml!(calls, nvmlEventSetCreate(&mut set)).is_ok()).then_some(set) }
    }

    /// Has the driver report this device's XIDs; a device that can't is left out.
    pub fn register(&self, calls: &Calls, handle: nvmlDevice_t) {
        if let Some(set) = self.set {
            let _ = nvml!(calls, nvmlDeviceRegisterEvents(handle, XID, set));
        }
    }

    /// What happened since the last call.
    pub fn drain(&self, calls: &Calls) -> Vec<(nvmlDevice_t, u64)> {
        let mut seen = Vec::new();
        let Some(set) = self.set else { return seen };
        while seen.len() < EVENTS_PER_TICK_MAX {
            // SAFETY: the struct is a handle and integers, for which all zeros is a value.
            let mut data: nvmlEventData_t = unsafe { std::mem::zeroed() };
            if nvml!(calls, nvmlEventSetWait_v2(set, &mut data, 0)).is_err() {
                break;
            }
            if data.eventType == XID {
                seen.push((data.device, data.eventData));
            }
        }
        seen
    }

    /// Gives the set back to the driver.
    pub fn free(&mut self, calls: &Calls) {
        if let Some(set) = self.set.take() {
            let _ = nvml!(calls, nvmlEventSetFree(set));
        }
    }
}
