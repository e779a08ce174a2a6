//! One NVML call: looked up without panicking, timed, counted, its return code classified.

use crate::reading::{CallStats, Field, Identity};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::NvmlLib;
use schema::wire::Reason;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// An NVML return code that isn't success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub u32);

impl Code {
    pub const NOT_SUPPORTED: Code = Code(3);
    pub const NOT_FOUND: Code = Code(6);
    pub const INSUFFICIENT_SIZE: Code = Code(7);
    /// Also stands for a symbol that this driver's library doesn't have.
    pub const FUNCTION_NOT_FOUND: Code = Code(13);

    /// The device is gone; its handle must be taken anew.
    pub fn loses_device(self) -> bool {
        matches!(self.0, 15 | 16)
    }

    /// The driver is gone or doesn't fit its library; NVML must be initialised anew.
    pub fn loses_driver(self) -> bool {
        matches!(self.0, 1 | 9 | 18 | 28 | 29)
    }

    /// Asking again can't help until MIG or the driver changes.
    pub fn is_permanent(self) -> bool {
        self == Code::NOT_SUPPORTED || self == Code::FUNCTION_NOT_FOUND
    }

    pub fn reason(self) -> Reason {
        match self.0 {
            3 | 13 => Reason::NotSupported,
            4 => Reason::NoPermission,
            code if Code(code).loses_device() => Reason::GpuLost,
            code if Code(code).loses_driver() => Reason::DriverUnavailable,
            _ => Reason::NvmlError,
        }
    }
}

/// When the call that is running began (0 while none runs) and which device it is about: for the watchdog.
#[derive(Debug, Default)]
pub struct Progress {
    began_us: AtomicU64,
    device: Mutex<Option<Arc<Identity>>>,
}

impl Progress {
    /// Notes the device that calls are about from now on.
    pub fn at_device(&self, device: Option<Arc<Identity>>) {
        *self.device.lock().unwrap_or_else(PoisonError::into_inner) = device;
    }

    /// The device that the running call is about.
    pub fn device(&self) -> Option<Arc<Identity>> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long the running call has run, if one is.
    pub fn running_for_us(&self, epoch: Instant) -> Option<u64> {
        let began = self.began_us.load(Ordering::SeqCst);
        (began != 0).then(|| micros_since(epoch).saturating_sub(began))
    }
}

fn micros_since(epoch: Instant) -> u64 {
    // One more than elapsed, so that a call in the first microsecond doesn't look like none.
    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_add(1)
}

/// The library and the account of its calls.
pub(super) struct Calls {
    nvml: Nvml,
    pub stats: RefCell<CallStats>,
    pub progress: Arc<Progress>,
    pub epoch: Instant,
    lost_device: Cell<bool>,
    lost_driver: Cell<Option<u32>>,
}

impl Calls {
    pub fn new(nvml: Nvml, progress: Arc<Progress>, epoch: Instant) -> Self {
        Self {
            nvml,
            stats: RefCell::default(),
            progress,
            epoch,
            lost_device: Cell::new(false),
            lost_driver: Cell::new(None),
        }
    }

    pub fn lib(&self) -> &NvmlLib {
        self.nvml.lib()
    }

    /// Runs one call, with its time and outcome on record.
    pub fn timed(&self, function: &'static str, call: impl FnOnce() -> u32) -> Result<(), Code> {
        let began = micros_since(self.epoch);
        self.progress.began_us.store(began, Ordering::SeqCst);
        let code = call();
        self.progress.began_us.store(0, Ordering::SeqCst);
        let expected = matches!(Code(code), Code::NOT_FOUND | Code::INSUFFICIENT_SIZE | Code(10));
        let spent = micros_since(self.epoch).saturating_sub(began);
        self.stats.borrow_mut().count(function, spent, if expected { 0 } else { code });
        if code == 0 {
            return Ok(());
        }
        let code = Code(code);
        if code.loses_device() {
            self.lost_device.set(true);
        }
        if code.loses_driver() {
            self.lost_driver.set(Some(code.0));
        }
        Err(code)
    }

    /// Whether a call said that its device is lost since the last time this was asked.
    pub fn take_lost_device(&self) -> bool {
        self.lost_device.replace(false)
    }

    /// The code by which a call said that the driver is gone.
    pub fn lost_driver(&self) -> Option<u32> {
        self.lost_driver.get()
    }
}

/// Calls an NVML function by its symbol: `nvml!(calls, nvmlDeviceGetPowerUsage(handle, &mut power))`.
macro_rules! nvml {
    ($calls:expr, $name:ident ( $($arg:expr),* $(,)? )) => {{
        let calls: &$crate::device::call::Calls = $calls;
        match calls.lib().$name.as_ref() {
            // SAFETY: the symbol has the type that bindgen gave it from NVIDIA's header; pointers are to live values of
            // those types, buffers are as long as the count passed with them, and the driver checks handles itself.
            Ok(function) => calls.timed(stringify!($name), || unsafe { function($($arg),*) }),
            Err(_) => Err($crate::device::call::Code::FUNCTION_NOT_FOUND),
        }
    }};
}
pub(super) use nvml;

/// Functions that a device said it doesn't support, so that it isn't asked on every tick.
#[derive(Debug, Default)]
pub(super) struct Unsupported(Vec<&'static str>);

impl Unsupported {
    /// Asks unless the answer is known to be "not supported".
    pub fn ask<T>(&mut self, what: &'static str, ask: impl FnOnce() -> Result<T, Code>) -> Field<T> {
        if self.0.contains(&what) {
            return Err(Reason::NotSupported);
        }
        ask().map_err(|code| {
            if code.is_permanent() {
                self.0.push(what);
            }
            code.reason()
        })
    }

    /// Asks again for everything, as after a change of MIG.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// The text before the first NUL of a C string buffer.
pub(super) fn text(buffer: &[std::os::raw::c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|c| c.to_ne_bytes()[0]).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
