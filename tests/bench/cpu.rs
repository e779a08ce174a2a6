//! CPU time of a process to the nanosecond, as the scheduler keeps it: `/proc/PID/stat` counts in steps of 10 ms, which
//! is several ticks of a collector.

use anyhow::{Context, Result};

/// CPU milliseconds that the living threads of a process have used so far. Neither side of a comparison ends threads
/// while it is measured.
///
/// # Errors
/// The process has gone, or the kernel keeps no such account.
pub fn milliseconds(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let account = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let on_cpu = account.split(' ').next().context("an empty schedstat")?;
        nanoseconds += on_cpu.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e6)
}
