//! The simulated NVML library, loaded and driven by a test.
#![allow(unsafe_code)] // Its clock and scenario are set through its C interface.

use std::ffi::CString;
use std::path::Path;

/// The simulated library, loaded as the collector loads it.
pub struct Library(libloading::Library);

impl Library {
    /// A copy of it in this folder: a node of its own.
    pub fn new(dir: &Path) -> Self {
        let beside = std::env::current_exe().expect("a path").with_file_name("libnvidia_ml.so");
        let path = dir.join("libnvidia-ml.so.1");
        std::fs::copy(beside, &path).expect("the simulated library is built beside its tests");
        // SAFETY: the library is ours; loading it initialises its own statics only.
        Self(unsafe { libloading::Library::new(path).expect("loads") })
    }

    /// Brings its clock to an instant, Unix milliseconds.
    pub fn set_time_ms(&self, unix_ms: i64) {
        // SAFETY: exported under this name with this signature.
        let set: libloading::Symbol<unsafe extern "C" fn(i64)> =
            unsafe { self.0.get(b"fakeNvmlSetTimeUs\0").expect("exported") };
        // SAFETY: it takes a plain number.
        unsafe { set(unix_ms * 1000) }
    }

    /// Tells it a path: of a scenario, or of the folder that is to be its `/proc`.
    pub fn tell(&self, name: &[u8], path: &Path) {
        let path = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: both functions that are told a path have this signature.
        let tell: libloading::Symbol<unsafe extern "C" fn(*const std::ffi::c_char) -> i32> =
            unsafe { self.0.get(name).expect("exported") };
        // SAFETY: the string lives until the call returns.
        assert_eq!(unsafe { tell(path.as_ptr()) }, 0, "refused {path:?}");
    }
}
