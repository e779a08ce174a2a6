//! Whose processes are on hosts without Kubernetes: through `/proc`, daemons of containers that are served over real
//! sockets, libvirt's files, and a simulated driver.

mod churn;
mod daemon;
mod library;
mod metering;
mod naming;
mod people;
mod proc;
mod wiring;

use std::time::{Duration, Instant};

/// Waits until something is so: the threads under test answer in their own time.
fn eventually<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(Instant::now() < until, "never came: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The wall clock, Unix milliseconds.
fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// A container id that a name stands for.
fn id(name: &str) -> String {
    format!("{:0<64}", name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>())
}
