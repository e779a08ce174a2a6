//! A simulated node in this process: a copy of the built library of its own, loaded through `nvml-wrapper`.
#![allow(unsafe_code, reason = "the library's side channel is a C interface")]

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;

use nvidia_ml::scenario::Scenario;
use nvml_wrapper::{Device, Nvml};

/// 2026-09-01T00:00:00Z.
pub const START_US: i64 = 1_788_220_800_000_000;

/// A node, and the library that speaks for it. Its clock stands still until it is set.
pub struct Node {
    pub nvml: Nvml,
    pub library: libloading::Library,
    pub scenario: Scenario,
    pub dir: tempfile::TempDir,
}

impl Node {
    /// A node of this scenario, at t = 0 of its own start.
    pub fn new(scenario: Scenario) -> Self {
        let scenario = scenario.starting_at_us(START_US);
        let dir = tempfile::tempdir().expect("the system has a place for temporary files");
        let path = dir.path().join("libnvidia-ml.so");
        std::fs::copy(built(), &path).expect("cargo built the library beside this test");
        // SAFETY: loading it runs no code that expects anything.
        let library = unsafe { libloading::Library::new(&path) }.expect("it is a library");
        let file = dir.path().join("scenario.toml");
        std::fs::write(&file, scenario.to_toml()).expect("the directory is ours");
        set_time(&library, START_US);
        assert_eq!(call_with_path(&library, "fakeNvmlLoadScenario", &file), 0, "scenario accepted");
        let nvml = Nvml::builder().lib_path(path.as_os_str()).init().expect("the library initialises");
        Self { nvml, library, scenario, dir }
    }

    /// Moves the clock to this many seconds after the start.
    pub fn at(&self, seconds: f64) -> &Self {
        set_time(&self.library, at_us(seconds));
        self
    }

    /// The GPU of this index.
    pub fn gpu(&self, index: u32) -> Device<'_> {
        self.nvml.device_by_index(index).expect("the GPU exists")
    }

    /// How often this function was called.
    pub fn calls(&self, name: &str) -> u64 {
        let name = CString::new(name).expect("no null in a name");
        // SAFETY: the signature is the library's.
        let count =
            unsafe { self.library.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"fakeNvmlCallCount") };
        // SAFETY: the name is a C string.
        unsafe { count.expect("the library exports it")(name.as_ptr()) }
    }

    /// Where this node's copy of the library is.
    pub fn library_path(&self) -> PathBuf {
        self.dir.path().join("libnvidia-ml.so")
    }

    /// Has `/proc` kept in this directory.
    pub fn keep_procfs(&self) -> PathBuf {
        let dir = self.dir.path().join("proc");
        assert_eq!(call_with_path(&self.library, "fakeNvmlSetProcfs", &dir), 0);
        dir
    }
}

/// An instant of the scenario, in unix µs.
pub fn at_us(seconds: f64) -> i64 {
    START_US + (seconds * 1e6).round() as i64
}

/// The library that cargo built for this test.
pub fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    test.with_file_name("libnvidia_ml.so")
}

fn set_time(library: &libloading::Library, unix_us: i64) {
    // SAFETY: the signature is the library's.
    let set = unsafe { library.get::<unsafe extern "C" fn(i64)>(b"fakeNvmlSetTimeUs") };
    // SAFETY: any instant will do.
    unsafe { set.expect("the library exports it")(unix_us) };
}

fn call_with_path(library: &libloading::Library, name: &str, path: &std::path::Path) -> c_int {
    let path = CString::new(path.to_str().expect("temporary paths are text")).expect("no null in a path");
    // SAFETY: the signature is the library's.
    let function = unsafe { library.get::<unsafe extern "C" fn(*const c_char) -> c_int>(name.as_bytes()) };
    // SAFETY: the path is a C string.
    unsafe { function.expect("the library exports it")(path.as_ptr()) }
}
