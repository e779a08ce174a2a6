//! The names that NVML exports. `names.txt` is the list; build.rs makes this table of it.

use std::sync::atomic::{AtomicU64, Ordering};

include!(concat!(env!("OUT_DIR"), "/names.rs"));

static CALLS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// A name's index, if NVML has it.
pub fn index_of(name: &str) -> Option<usize> {
    NAMES.binary_search(&name).ok()
}

pub(crate) fn count_call(index: usize) {
    CALLS[index].fetch_add(1, Ordering::Relaxed);
}

/// How often a function was called, or all of them.
pub(crate) fn calls(index: Option<usize>) -> u64 {
    match index {
        Some(index) => CALLS[index].load(Ordering::Relaxed),
        None => CALLS.iter().map(|count| count.load(Ordering::Relaxed)).sum(),
    }
}

pub(crate) fn reset_calls() {
    CALLS.iter().for_each(|count| count.store(0, Ordering::Relaxed));
}
