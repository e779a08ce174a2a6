//! Events: XIDs and MIG changes, waited for in order of time.
#![allow(non_snake_case, reason = "they are NVML's names")]

use std::ffi::{c_uint, c_ulonglong};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t, nvmlReturn_t};

use crate::call::{self, Answer, Code, device_calls, put};
use crate::clock;
use crate::handle::Handle;
use crate::model::{Happening, HappeningKind, Model};
use crate::names::id;
use crate::state;

/// `nvmlEventTypeXidCriticalError` and `nvmlEventTypeMigConfigChange`.
const XID: c_ulonglong = 0x8;
const MIG_CHANGE: c_ulonglong = 0x100;
const NO_INSTANCE: c_uint = c_uint::MAX;

/// What a caller's `nvmlEventSet_t` points to.
#[derive(Default)]
struct EventSet {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// What was registered for.
    registered: Vec<Registered>,
    /// How many of the model's happenings were looked at; none before the first registration.
    seen: Option<usize>,
}

struct Registered {
    gpu: usize,
    types: c_ulonglong,
}

fn type_of(happening: &Happening) -> c_ulonglong {
    match happening.kind {
        HappeningKind::Xid(..) => XID,
        HappeningKind::MigChange => MIG_CHANGE,
    }
}

impl Waiting {
    /// The oldest happening that was registered for and not delivered yet.
    fn next(&mut self, model: &Model, now_us: i64) -> Option<Happening> {
        let mut seen = self.seen.unwrap_or_else(|| happened(model, now_us));
        let next = loop {
            match model.happenings.get(seen) {
                Some(happening) if happening.at_us <= now_us => {
                    seen += 1;
                    let wanted = |registered: &Registered| {
                        registered.gpu == happening.gpu && registered.types & type_of(happening) != 0
                    };
                    if self.registered.iter().any(wanted) {
                        break Some(*happening);
                    }
                }
                _ => break None,
            }
        };
        self.seen = Some(seen);
        next
    }
}

fn happened(model: &Model, now_us: i64) -> usize {
    model.happenings.partition_point(|happening| happening.at_us <= now_us)
}

fn data(model: &Model, happening: &Happening, now_us: i64) -> nvmlEventData_t {
    let gpu = &model.gpus[happening.gpu];
    let (value, gi) = match happening.kind {
        HappeningKind::Xid(code, gi) => (code, gi.unwrap_or(NO_INSTANCE)),
        HappeningKind::MigChange => (0, NO_INSTANCE),
    };
    nvmlEventData_t {
        device: Handle { gpu: gpu.index, mig: None, returns: call::returns(gpu, now_us) }.encode(),
        eventType: type_of(happening),
        eventData: value,
        gpuInstanceId: gi,
        computeInstanceId: NO_INSTANCE,
    }
}

device_calls! {
    /// Event types that the device can report.
    fn nvmlDeviceGetSupportedEventTypes(device, types: *mut c_ulonglong) {
        device.whole()?;
        put(types, if device.gpu.preset.compute_slices > 0 { XID | MIG_CHANGE } else { XID })
    }

    /// Adds a device's events to a set, from now on.
    fn nvmlDeviceRegisterEvents(device, types: c_ulonglong, set: nvmlEventSet_t) {
        device.whole()?;
        let supported = if device.gpu.preset.compute_slices > 0 { XID | MIG_CHANGE } else { XID };
        if types & !supported != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let set = set.cast::<EventSet>().as_ref().ok_or(Code::INVALID_ARGUMENT)?;
        let mut waiting = set.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.seen.get_or_insert(happened(device.model, device.now_us));
        waiting.registered.push(Registered { gpu: device.gpu.index, types });
        Ok(())
    }
}

/// Makes an empty set.
///
/// # Safety
/// `set` is null or may be written.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> nvmlReturn_t {
    call::on_node(id::nvmlEventSetCreate, |_| {
        if set.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: it isn't null, and the caller vouches for the rest.
        unsafe { put(set, Box::into_raw(Box::<EventSet>::default()).cast()) }
    })
}

/// Gives a set back.
///
/// # Safety
/// `set` is null or one of [`nvmlEventSetCreate`] that wasn't given back yet and that nobody waits on.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    call::on_library(id::nvmlEventSetFree, || {
        if set.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: it came from a box, and the caller vouches that it still is one.
        drop(unsafe { Box::from_raw(set.cast::<EventSet>()) });
        Ok(())
    })
}

/// # Safety
/// `set` is null or a live one of [`nvmlEventSetCreate`]; `target` is null or may be written.
unsafe fn wait(set: nvmlEventSet_t, target: *mut nvmlEventData_t, timeout_ms: c_uint) -> Answer {
    // SAFETY: the caller vouches for the pointer.
    let set = unsafe { set.cast::<EventSet>().as_ref() }.ok_or(Code::INVALID_ARGUMENT)?;
    let mut waiting = set.waiting.lock().unwrap_or_else(PoisonError::into_inner);
    let found = clock::wait(Some(Duration::from_millis(u64::from(timeout_ms))), || {
        let model = state::loaded()?;
        let now_us = clock::now_us(model.start_us);
        if !state::is_initialised(&model, now_us) {
            return Some(Err(Code::UNINITIALIZED));
        }
        waiting.next(&model, now_us).map(|happening| Ok(data(&model, &happening, now_us)))
    });
    // SAFETY: the caller vouches for the pointer.
    unsafe { put(target, found.ok_or(Code::TIMEOUT)??) }
}

/// Waits for the next event of a set.
///
/// # Safety
/// `set` is null or a live one of [`nvmlEventSetCreate`]; `target` is null or may be written.
// SAFETY: the name is one that NVML exports, so no other library of the process needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    target: *mut nvmlEventData_t,
    timeout_ms: c_uint,
) -> nvmlReturn_t {
    // SAFETY: the caller vouches for the pointers.
    call::on_node(id::nvmlEventSetWait_v2, |_| unsafe { wait(set, target, timeout_ms) })
}
