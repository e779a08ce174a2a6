//! Ctrl-C as a value that can be asked for, so that everything that was started is stopped in order.
//!
//! A handler and not a mask: programs that are started inherit a mask and would be deaf to SIGTERM; handlers end at exec.
#![allow(unsafe_code)] // Signal handlers have no safe counterpart in std.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static CAME: AtomicBool = AtomicBool::new(false);

/// How often a wait looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

extern "C" fn note(_signal: libc::c_int) {
    CAME.store(true, Ordering::SeqCst);
}

/// SIGINT and SIGTERM, noted instead of ending the program.
pub struct Signals(());

impl Signals {
    /// Notes them from now on; call it first in `main`.
    pub fn hold() -> Self {
        let handler: extern "C" fn(libc::c_int) = note;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: the handler only stores into an atomic, which may be done at any time.
            unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        }
        Self(())
    }

    /// Waits for one; whether one came, now or before.
    pub fn wait(&self, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most;
        while !CAME.load(Ordering::SeqCst) && Instant::now() < deadline {
            std::thread::sleep(LOOK_AGAIN);
        }
        CAME.load(Ordering::SeqCst)
    }
}
