//! One node's copy of the simulated NVML library, and its side channel: clock, scenario, procfs, ground truth.
//!
//! A copy under a path of its own is loaded as a library of its own, with a state of its own, so one process can hold
//! many nodes. (A hard link would be the same file to the loader.)
#![allow(unsafe_code)] // The side channel is a C interface; this is the only module that calls it.

use anyhow::{Context, Result, ensure};
use std::ffi::CString;
use std::os::raw::{c_char, c_int};
use std::path::{Path, PathBuf};

/// A loaded copy.
pub struct Library {
    library: libloading::Library,
    path: PathBuf,
}

impl Library {
    /// Copies the simulated library into `dir` and loads the copy.
    ///
    /// # Errors
    /// The library wasn't built, or `dir` can't be written.
    pub fn copy_into(dir: &Path) -> Result<Self> {
        let path = dir.join("libnvidia-ml.so.1");
        let built = built_library()?;
        std::fs::copy(&built, &path)
            .with_context(|| format!("copy {} to {}", built.display(), path.display()))?;
        // SAFETY: the library is ours; its constructors do nothing beyond initialising its own statics.
        let library =
            unsafe { libloading::Library::new(&path) }.with_context(|| format!("load {}", path.display()))?;
        Ok(Self { library, path })
    }

    /// Where the copy lies: what a collector is given as its NVML library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the virtual clock, Unix milliseconds.
    pub fn set_time_ms(&self, unix_ms: i64) -> Result<()> {
        // SAFETY: the name and signature are those that the simulated library exports.
        let set: libloading::Symbol<unsafe extern "C" fn(i64)> =
            unsafe { self.library.get(b"fakeNvmlSetTimeUs\0")? };
        // SAFETY: takes a plain number.
        unsafe { set(unix_ms * 1000) };
        Ok(())
    }

    /// Loads a scenario.
    pub fn load_scenario(&self, path: &Path) -> Result<()> {
        self.with_path(b"fakeNvmlLoadScenario\0", path)
    }

    /// Keeps this directory in step as the node's `/proc`.
    pub fn set_procfs(&self, dir: &Path) -> Result<()> {
        self.with_path(b"fakeNvmlSetProcfs\0", dir)
    }

    /// How often a function was called since the last reset; an empty name is all of them.
    pub fn call_count(&self, function: &str) -> Result<u64> {
        let name = CString::new(function)?;
        // SAFETY: the name and signature are those that the simulated library exports.
        let count: libloading::Symbol<unsafe extern "C" fn(*const c_char) -> u64> =
            unsafe { self.library.get(b"fakeNvmlCallCount\0")? };
        // SAFETY: the string lives until the call returns.
        Ok(unsafe { count(name.as_ptr()) })
    }

    fn with_path(&self, symbol: &[u8], path: &Path) -> Result<()> {
        let text = CString::new(path.to_str().context("a path that isn't UTF-8")?)?;
        // SAFETY: both functions take a path and answer an error number.
        let call: libloading::Symbol<unsafe extern "C" fn(*const c_char) -> c_int> =
            unsafe { self.library.get(symbol)? };
        // SAFETY: the string lives until the call returns.
        let code = unsafe { call(text.as_ptr()) };
        ensure!(code == 0, "the simulated library refused {} ({code})", path.display());
        Ok(())
    }
}

/// The simulated library beside the running program (`target/PROFILE`, or its `deps` for a test).
///
/// # Errors
/// It isn't there: `cargo build -p fake-nvml` makes it.
pub fn built_library() -> Result<PathBuf> {
    built("libnvidia_ml.so")
}

/// A program or library of this workspace beside the running program.
///
/// # Errors
/// It isn't there: build the workspace first.
pub fn built(name: &str) -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    exe.ancestors().skip(1).take(2).map(|dir| dir.join(name)).find(|path| path.exists()).with_context(|| {
        format!("{name} is not beside {}: run `cargo build --workspace` first", exe.display())
    })
}
