//! What every call goes through: counting, injected faults, the state of driver and device, and the guard that no panic
//! crosses into C.
#![allow(unsafe_code, reason = "a C interface writes through its callers' pointers")]

use std::ffi::{CStr, c_char, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::handle::Handle;
use crate::model::{FaultKind, GpuModel, InstanceModel, MigDeviceModel, Model};
use crate::{clock, names, state};

/// An `nvmlReturn_t` that isn't success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub nvmlReturn_t);

impl Code {
    pub const UNINITIALIZED: Code = Code(1);
    pub const INVALID_ARGUMENT: Code = Code(2);
    pub const NOT_SUPPORTED: Code = Code(3);
    pub const NO_PERMISSION: Code = Code(4);
    pub const NOT_FOUND: Code = Code(6);
    pub const INSUFFICIENT_SIZE: Code = Code(7);
    pub const DRIVER_NOT_LOADED: Code = Code(9);
    pub const TIMEOUT: Code = Code(10);
    pub const GPU_IS_LOST: Code = Code(15);
    pub const ARGUMENT_VERSION_MISMATCH: Code = Code(25);
    pub const UNKNOWN: Code = Code(999);
}

/// How a call ends.
pub type Answer = Result<(), Code>;

/// The node at the instant of a call.
pub struct Node<'a> {
    pub model: &'a Model,
    pub now_us: i64,
}

/// The device of a call: a GPU, or a MIG device of it.
pub struct Device<'a> {
    pub model: &'a Model,
    pub now_us: i64,
    pub gpu: &'a GpuModel,
    pub mig: Option<(&'a InstanceModel, &'a MigDeviceModel)>,
    pub handle: Handle,
}

impl Device<'_> {
    /// Refuses a MIG device's handle.
    pub fn whole(&self) -> Answer {
        if self.mig.is_some() { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
    }

    /// Whether MIG is on.
    pub fn is_mig_enabled(&self) -> bool {
        self.gpu.layout_at(self.now_us).is_some()
    }

    /// Refuses what doesn't exist while the GPU is cut by MIG.
    pub fn not_cut(&self) -> Answer {
        if self.is_mig_enabled() { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
    }
}

/// Answers a call of a function without an implementation.
pub fn unsupported(function: usize) -> nvmlReturn_t {
    guarded(function, || on_node_inner(function, |_| Err(Code::NOT_SUPPORTED)))
}

/// Answers a call of the library itself, initialised or not.
pub fn on_library(function: usize, answer: impl FnOnce() -> Answer) -> nvmlReturn_t {
    guarded(function, answer)
}

/// Answers a call about the node.
pub fn on_node(function: usize, answer: impl FnOnce(&Node) -> Answer) -> nvmlReturn_t {
    guarded(function, || on_node_inner(function, answer))
}

/// Answers a call about a device.
pub fn on_device(
    function: usize,
    device: nvmlDevice_t,
    answer: impl FnOnce(&Device) -> Answer,
) -> nvmlReturn_t {
    guarded(function, || {
        let model = state::model().ok_or(Code::UNINITIALIZED)?;
        let now_us = inject(&model, function, Handle::decode(device).map(|handle| handle.gpu))?;
        if !state::is_initialised(&model, now_us) {
            return Err(Code::UNINITIALIZED);
        }
        answer(&resolve(&model, now_us, device)?)
    })
}

fn guarded(function: usize, answer: impl FnOnce() -> Answer) -> nvmlReturn_t {
    names::count_call(function);
    match catch_unwind(AssertUnwindSafe(answer)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.0,
        Err(_) => Code::UNKNOWN.0,
    }
}

fn on_node_inner(function: usize, answer: impl FnOnce(&Node) -> Answer) -> Answer {
    let model = state::model().ok_or(Code::UNINITIALIZED)?;
    let now_us = inject(&model, function, None)?;
    if !state::is_initialised(&model, now_us) {
        return Err(Code::UNINITIALIZED);
    }
    answer(&Node { model: &model, now_us })
}

/// Applies the scenario's faults of this call on this GPU, and says what time it is afterwards.
pub fn inject(model: &Model, function: usize, gpu: Option<usize>) -> Result<i64, Code> {
    apply(model, function, |only| only.is_none() || only == gpu)
}

/// Applies those faults of a call that are this GPU's alone: the call was about the node until it found the GPU.
pub fn inject_found(model: &Model, function: usize, gpu: usize) -> Result<i64, Code> {
    apply(model, function, |only| only == Some(gpu))
}

fn apply(model: &Model, function: usize, hits_gpu: impl Fn(Option<usize>) -> bool) -> Result<i64, Code> {
    let now_us = clock::now_us(model.start_us);
    let faults = &model.faults[function];
    if faults.is_empty() {
        return Ok(now_us);
    }
    let mut error = None;
    for fault in faults {
        let hits = fault.from_us <= now_us && now_us < fault.to_us && hits_gpu(fault.gpu);
        match fault.kind {
            _ if !hits => {}
            FaultKind::Error(code) => error = error.or(Some(Code(code))),
            FaultKind::Delay(micros) => std::thread::sleep(Duration::from_micros(micros)),
            FaultKind::Hang(real_ms) => {
                let over = || (clock::now_us(model.start_us) >= fault.to_us).then_some(());
                clock::wait(real_ms.map(Duration::from_millis), over);
            }
        }
    }
    match error {
        Some(code) => Err(code),
        None => Ok(clock::now_us(model.start_us)),
    }
}

/// What a handle stands for now, if it still does.
fn resolve(model: &Model, now_us: i64, device: nvmlDevice_t) -> Result<Device<'_>, Code> {
    let handle = Handle::decode(device).ok_or(Code::INVALID_ARGUMENT)?;
    let gpu = model.gpus.get(handle.gpu).ok_or(Code::INVALID_ARGUMENT)?;
    if is_lost(gpu, now_us) || handle.returns < returns(gpu, now_us) {
        return Err(Code::GPU_IS_LOST);
    }
    let mig = match handle.mig {
        None => None,
        Some((number, slot)) => match gpu.layout_at(now_us) {
            Some((live, layout)) if live == number => {
                Some(layout.device(slot).ok_or(Code::INVALID_ARGUMENT)?)
            }
            _ => return Err(Code::INVALID_ARGUMENT),
        },
    };
    Ok(Device { model, now_us, gpu, mig, handle })
}

/// Whether a GPU is lost at an instant.
pub fn is_lost(gpu: &GpuModel, now_us: i64) -> bool {
    gpu.lost_us.iter().any(|(from_us, to_us)| *from_us <= now_us && now_us < *to_us)
}

/// How often a GPU has come back from a loss.
pub fn returns(gpu: &GpuModel, now_us: i64) -> usize {
    gpu.lost_us.iter().filter(|(_, to_us)| *to_us <= now_us).count()
}

/// Writes through a caller's pointer; null is an invalid argument.
///
/// # Safety
/// `target` is null or points to a `T` that may be written.
pub unsafe fn put<T>(target: *mut T, value: T) -> Answer {
    if target.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: it isn't null, and the caller vouches for the rest.
    unsafe { target.write(value) };
    Ok(())
}

/// Writes a text and its terminator; a buffer that is too short is an insufficient size.
///
/// # Safety
/// `target` is null or points to `length` bytes that may be written.
pub unsafe fn put_text(target: *mut c_char, length: c_uint, text: &str) -> Answer {
    if target.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    if (length as usize) <= text.len() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    // SAFETY: the buffer holds the text and its terminator, as just checked.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), target, text.len());
        target.add(text.len()).write(0);
    }
    Ok(())
}

/// A caller's text.
///
/// # Safety
/// `text` is null or a C string.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Code> {
    if text.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: it isn't null, and the caller vouches for the terminator.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Code::INVALID_ARGUMENT)
}

/// Writes a list the way NVML does: the count always, the items where they fit, INSUFFICIENT_SIZE where they don't.
///
/// # Safety
/// `count` is null or may be read and written; `target` is null or has room for `*count` items.
pub unsafe fn put_list<T>(count: *mut c_uint, target: *mut T, items: Vec<T>) -> Answer {
    if count.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: it isn't null, and the caller vouches for the rest.
    let room = unsafe { count.read() } as usize;
    // SAFETY: as above.
    unsafe { count.write(c_uint::try_from(items.len()).unwrap_or(c_uint::MAX)) };
    if items.len() > room {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    if items.is_empty() {
        return Ok(());
    }
    if target.is_null() {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: there is room for all of them, and a new vector doesn't overlap a caller's array.
    unsafe { std::ptr::copy_nonoverlapping(items.as_ptr(), target, items.len()) };
    Ok(())
}

/// Refuses a struct whose `version` isn't its size and number, as real NVML does.
pub fn check_version<T>(version: c_uint, number: c_uint) -> Answer {
    let size = c_uint::try_from(size_of::<T>()).map_err(|_| Code::UNKNOWN)?;
    if version == size | number << 24 { Ok(()) } else { Err(Code::ARGUMENT_VERSION_MISMATCH) }
}

/// Declares exported functions about a device. The body is an [`Answer`], with the device at the instant of the call.
macro_rules! device_calls {
    ($( $(#[$meta:meta])* fn $name:ident($device:ident $(, $arg:ident: $type:ty)* $(,)?) $body:block )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVML's function of this name: pointers are null or fit their types and counts.
        // SAFETY: the name is one that NVML exports, so no other library of the process needs it.
        #[unsafe(no_mangle)]
        #[allow(unused_variables, unused_unsafe, reason = "not every answer depends on the device or writes")]
        pub unsafe extern "C" fn $name(
            device: nvml_wrapper_sys::bindings::nvmlDevice_t $(, $arg: $type)*
        ) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
            // SAFETY: what the body writes through are the caller's pointers, which the caller vouches for.
            $crate::call::on_device($crate::names::id::$name, device, |$device| unsafe { $body })
        }
    )*};
}
pub(crate) use device_calls;

/// Declares exported functions about the node.
macro_rules! node_calls {
    ($( $(#[$meta:meta])* fn $name:ident($node:ident $(, $arg:ident: $type:ty)* $(,)?) $body:block )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As NVML's function of this name: pointers are null or fit their types and counts.
        // SAFETY: the name is one that NVML exports, so no other library of the process needs it.
        #[unsafe(no_mangle)]
        #[allow(unused_variables, unused_unsafe, reason = "not every answer depends on the device or writes")]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
            // SAFETY: what the body writes through are the caller's pointers, which the caller vouches for.
            $crate::call::on_node($crate::names::id::$name, |$node| unsafe { $body })
        }
    )*};
}
pub(crate) use node_calls;
