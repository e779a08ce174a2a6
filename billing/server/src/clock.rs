//! The wall clock, named once: everything else is handed an instant.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, Unix milliseconds.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is after 1970");
    i64::try_from(since.as_millis()).expect("the clock is before the year 292 million")
}
