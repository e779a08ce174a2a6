//! What time it is for this node: the wall clock's, shifted and sped up as asked, or a virtual instant set from outside.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// No virtual instant was set.
const UNSET: i64 = i64::MIN;

static VIRTUAL_US: AtomicI64 = AtomicI64::new(UNSET);
static CHANGED: Condvar = Condvar::new();
static CHANGING: Mutex<()> = Mutex::new(());
static WALL: OnceLock<Wall> = OnceLock::new();

/// How the wall clock becomes scenario time.
struct Wall {
    t0_us: i64,
    speed: f64,
}

fn wall() -> &'static Wall {
    WALL.get_or_init(|| Wall {
        t0_us: variable("FAKE_NVML_T0_US").unwrap_or_else(wall_us),
        speed: variable("FAKE_NVML_SPEED").unwrap_or(1.0),
    })
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let value = text.trim().parse().ok();
    if value.is_none() {
        eprintln!("fake-nvml: {name}: {text:?} is no number; unset it or write digits");
    }
    value
}

fn wall_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Wall-clock instant of t = 0, which is the scenario's start where it names none.
pub fn t0_us() -> i64 {
    wall().t0_us
}

/// Now, for a scenario that starts at this instant.
pub fn now_us(start_us: i64) -> i64 {
    match VIRTUAL_US.load(Ordering::Acquire) {
        UNSET => {
            let passed = wall_us() - wall().t0_us;
            let passed = if wall().speed == 1.0 { passed } else { (passed as f64 * wall().speed) as i64 };
            start_us + passed
        }
        virtual_us => virtual_us,
    }
}

/// Stops the clock at this instant, until it is set again.
pub fn set_us(unix_us: i64) {
    let changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    VIRTUAL_US.store(unix_us, Ordering::Release);
    drop(changing);
    CHANGED.notify_all();
}

/// Waits in real time until `ready` gives something, looking again whenever the clock is set and every few milliseconds
/// besides (the wall clock doesn't tell when it moves); `None` after `timeout`.
pub fn wait<T>(timeout: Option<Duration>, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    const LOOK_AGAIN: Duration = Duration::from_millis(5);
    let started = std::time::Instant::now();
    let mut changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(found) = ready() {
            return Some(found);
        }
        let left = timeout.map_or(LOOK_AGAIN, |timeout| timeout.saturating_sub(started.elapsed()));
        if left.is_zero() {
            return None;
        }
        changing =
            CHANGED.wait_timeout(changing, left.min(LOOK_AGAIN)).unwrap_or_else(PoisonError::into_inner).0;
    }
}
