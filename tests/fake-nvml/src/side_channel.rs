//! What the real library doesn't have: symbols that set the clock, the scenario and `/proc`, count calls, and write the
//! ground truth.
#![allow(unsafe_code, reason = "a C interface: its names are exported and its callers' texts read")]
#![allow(non_snake_case, reason = "named like the functions they stand beside")]

use std::ffi::{c_char, c_int};
use std::panic::catch_unwind;
use std::path::Path;

use crate::{call, clock, names, state, truth};

fn guarded(answer: impl FnOnce() -> c_int + std::panic::UnwindSafe) -> c_int {
    catch_unwind(answer).unwrap_or(-1)
}

/// # Safety
/// `path` is null or a C string.
unsafe fn path<'a>(path: *const c_char) -> Option<&'a Path> {
    // SAFETY: the caller vouches for the text.
    unsafe { call::text(path) }.ok().map(Path::new)
}

/// Stops the clock at this instant (unix µs), until it is set again.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub extern "C" fn fakeNvmlSetTimeUs(unix_us: i64) {
    clock::set_us(unix_us);
}

/// Replaces the scenario by this file's; 0, or -1 with a message on stderr.
///
/// # Safety
/// `file` is null or a C string.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakeNvmlLoadScenario(file: *const c_char) -> c_int {
    // SAFETY: the caller vouches for the text.
    let Some(file) = (unsafe { path(file) }) else { return -1 };
    guarded(|| match state::load(file) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("fake-nvml: {error}");
            -1
        }
    })
}

/// Keeps this directory as `/proc`; 0, or -1 where there is no text.
///
/// # Safety
/// `dir` is null or a C string.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakeNvmlSetProcfs(dir: *const c_char) -> c_int {
    // SAFETY: the caller vouches for the text.
    let Some(dir) = (unsafe { path(dir) }) else { return -1 };
    guarded(|| {
        state::set_procfs(dir);
        0
    })
}

/// How often a function was called; of null, how often any was. 0 for a name that NVML doesn't have.
///
/// # Safety
/// `name` is null or a C string.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakeNvmlCallCount(name: *const c_char) -> u64 {
    if name.is_null() {
        return names::calls(None);
    }
    // SAFETY: the caller vouches for the text.
    let name = unsafe { call::text(name) }.ok();
    name.and_then(names::index_of).map_or(0, |index| names::calls(Some(index)))
}

/// Counts from zero again.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub extern "C" fn fakeNvmlResetCallCounts() {
    names::reset_calls();
}

/// Writes the ground truth of `[from_us, to_us)` as JSON; 0, or -1 with a message on stderr.
///
/// # Safety
/// `file` is null or a C string.
// SAFETY: the name is this library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakeNvmlWriteTruth(file: *const c_char, from_us: i64, to_us: i64) -> c_int {
    // SAFETY: the caller vouches for the text.
    let Some(file) = (unsafe { path(file) }) else { return -1 };
    guarded(|| {
        let Some(model) = state::model() else { return -1 };
        match truth::write(&model, from_us, to_us, file) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("fake-nvml: {}: could not write the truth: {error}", file.display());
                -1
            }
        }
    })
}

/// Runs when the library is unloaded or the process exits, so that a caller that never shuts down leaves its truth too.
// SAFETY: a function pointer without arguments is what the section holds.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    guarded(|| {
        truth::write_if_asked();
        0
    });
}
