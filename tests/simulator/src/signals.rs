//! Ctrl-C as a value that can be asked for, so that everything that was started is stopped in order.
#![allow(unsafe_code)] // Signal masks and `sigtimedwait` have no safe counterpart in std.

use std::mem::MaybeUninit;
use std::time::Duration;

/// SIGINT and SIGTERM, held back from their default action. Child processes start with an empty mask again.
pub struct Signals(libc::sigset_t);

impl Signals {
    /// Holds them back for this thread and all that it starts afterwards; call it first in `main`.
    pub fn hold() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set that the other calls then read.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            set
        };
        Self(set)
    }

    /// Waits for one; whether one came.
    pub fn wait(&self, at_most: Duration) -> bool {
        let timeout = libc::timespec {
            tv_sec: at_most.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // SAFETY: the set is initialised, and no information about the signal is asked for.
        let signal = unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &timeout) };
        signal > 0
    }
}
