//! Time, handed in: a wall clock and the boot-time clock, real or set by hand.
//!
//! Windows tile UTC exactly: [`Timeline`] is an anchor of wall time plus the boot-time clock, so that a step of the
//! wall clock neither overlaps nor loses time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The two clocks a collector needs.
pub trait Clock: Send + Sync {
    /// Unix milliseconds by the wall clock, which may be stepped.
    fn wall_ms(&self) -> i64;
    /// Milliseconds since boot, suspended time included; never steps.
    fn boot_ms(&self) -> i64;
}

/// The kernel's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

fn kernel_ms(id: rustix::time::ClockId) -> i64 {
    let at = rustix::time::clock_gettime(id);
    at.tv_sec * 1000 + at.tv_nsec / 1_000_000
}

impl Clock for SystemClock {
    fn wall_ms(&self) -> i64 {
        kernel_ms(rustix::time::ClockId::Realtime)
    }
    fn boot_ms(&self) -> i64 {
        kernel_ms(rustix::time::ClockId::Boottime)
    }
}

/// Clocks that stand where they are put; clones share the hands.
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    wall_ms: Arc<AtomicI64>,
    boot_ms: Arc<AtomicI64>,
}

impl ManualClock {
    /// Both clocks at this instant: the wall's in Unix milliseconds, the boot clock at the same number.
    pub fn at(unix_ms: i64) -> Self {
        Self { wall_ms: Arc::new(AtomicI64::new(unix_ms)), boot_ms: Arc::new(AtomicI64::new(unix_ms)) }
    }

    /// Lets time pass until the wall shows `unix_ms`.
    pub fn advance_to(&self, unix_ms: i64) {
        let passed = unix_ms - self.wall_ms.swap(unix_ms, Ordering::SeqCst);
        self.boot_ms.fetch_add(passed, Ordering::SeqCst);
    }

    /// Steps the wall clock alone.
    pub fn step_wall(&self, by_ms: i64) {
        self.wall_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall_ms(&self) -> i64 {
        self.wall_ms.load(Ordering::SeqCst)
    }
    fn boot_ms(&self) -> i64 {
        self.boot_ms.load(Ordering::SeqCst)
    }
}

/// A difference between wall clock and timeline above this is a step; below it, it is left to NTP's slewing.
pub const STEP_MS: i64 = 1000;

/// UTC as this collector counts it: wall time at the anchor plus boot time since.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    anchor_wall_ms: i64,
    anchor_boot_ms: i64,
    floor_ms: i64,
}

/// What a step of the wall clock means for the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// None happened.
    None,
    /// The wall went ahead: this much of UTC passed unobserved.
    Ahead {
        /// Where the timeline stood, Unix milliseconds.
        from_ms: i64,
        /// Where it stands now.
        to_ms: i64,
    },
    /// The wall went back: UTC up to `until_ms` is tiled already and isn't tiled again.
    Back {
        /// Where tiles continue, Unix milliseconds.
        until_ms: i64,
    },
}

impl Timeline {
    /// Anchored at the clock's present.
    pub fn new(clock: &dyn Clock) -> Self {
        Self { anchor_wall_ms: clock.wall_ms(), anchor_boot_ms: clock.boot_ms(), floor_ms: i64::MIN }
    }

    /// The UTC instant of a boot-clock instant; never before what was tiled already.
    pub fn at(&self, boot_ms: i64) -> i64 {
        (self.anchor_wall_ms + (boot_ms - self.anchor_boot_ms)).max(self.floor_ms)
    }

    /// Compares with the wall clock and re-anchors after a step.
    pub fn check(&mut self, clock: &dyn Clock) -> Step {
        let (wall, boot) = (clock.wall_ms(), clock.boot_ms());
        let unfloored = self.anchor_wall_ms + (boot - self.anchor_boot_ms);
        if (wall - unfloored).abs() <= STEP_MS {
            return Step::None;
        }
        let stood = self.at(boot);
        (self.anchor_wall_ms, self.anchor_boot_ms) = (wall, boot);
        if wall > stood {
            Step::Ahead { from_ms: stood, to_ms: wall }
        } else {
            self.floor_ms = stood;
            Step::Back { until_ms: stood }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ahead_is_reported_and_a_step_back_never_repeats_time() {
        let clock = ManualClock::at(1_000_000);
        let mut timeline = Timeline::new(&clock);
        clock.advance_to(1_010_000);
        assert_eq!(timeline.check(&clock), Step::None);
        clock.step_wall(5_000);
        assert_eq!(timeline.check(&clock), Step::Ahead { from_ms: 1_010_000, to_ms: 1_015_000 });
        clock.step_wall(-8_000);
        assert_eq!(timeline.check(&clock), Step::Back { until_ms: 1_015_000 });
        clock.advance_to(1_012_000);
        assert_eq!(timeline.at(clock.boot_ms()), 1_015_000);
        clock.advance_to(1_016_000);
        assert_eq!(timeline.at(clock.boot_ms()), 1_016_000);
        assert_eq!(timeline.check(&clock), Step::None);
    }

    #[test]
    fn slewing_below_a_second_is_not_a_step() {
        let clock = ManualClock::at(0);
        let mut timeline = Timeline::new(&clock);
        clock.step_wall(1000);
        assert_eq!(timeline.check(&clock), Step::None);
    }
}
