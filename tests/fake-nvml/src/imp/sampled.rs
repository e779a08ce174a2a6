//! Utilisation as a driver samples it: whole percents of whole sample periods.
//!
//! A fractional percent is rounded now up, now down, so that the sum over adjacent windows of one length is off by less
//! than one percent of one window for ever, and the whole is unbiased: what is rounded is the running integral, not the
//! value.

use crate::model::{FULL, Model};
use crate::series::Steps;

/// One percent, in parts per billion.
const PERCENT: u128 = FULL as u128 / 100;

/// Sample periods that a caller may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the oldest.
    pub from_us: i64,
    /// End of the newest.
    pub to_us: i64,
}

impl Window {
    /// Finished sample periods whose ends are newer than `last_seen_us` and not older than the driver's buffer.
    pub fn newer_than(model: &Model, now_us: i64, last_seen_us: u64) -> Option<Self> {
        let to_us = floor(model, now_us);
        let last_seen_us = i64::try_from(last_seen_us).unwrap_or(i64::MAX);
        let oldest_us = floor(model, to_us - model.scenario.sample_buffer_s.micros())
            .max(floor(model, model.loaded_us(now_us)));
        let from_us = floor(model, last_seen_us).max(oldest_us);
        (from_us < to_us).then_some(Self { from_us, to_us })
    }

    /// The last finished sample period.
    pub fn last(model: &Model, now_us: i64) -> Self {
        let to_us = floor(model, now_us);
        Self { from_us: to_us - model.period_us, to_us }
    }

    /// The mean over the window, in whole percent.
    pub fn percent(self, busy: &Steps, phase: u64) -> u32 {
        let one = PERCENT * u128::from(self.to_us.abs_diff(self.from_us));
        let offset = (one * u128::from(phase >> 1)) >> 63;
        let up_to = |at_us: i64| (busy.integral_to(at_us) + offset) / one;
        u32::try_from(up_to(self.to_us).saturating_sub(up_to(self.from_us))).unwrap_or(u32::MAX)
    }

    /// The newest period of the window with a percent above zero, with that percent.
    pub fn newest(self, model: &Model, busy: &Steps, phase: u64) -> Option<(Self, u32)> {
        if busy.integral(self.from_us, self.to_us) == 0 {
            return None;
        }
        let mut period = Self { from_us: self.to_us - model.period_us, to_us: self.to_us };
        while period.from_us >= self.from_us {
            let percent = period.percent(busy, phase);
            if percent > 0 {
                return Some((period, percent));
            }
            period = Self { from_us: period.from_us - model.period_us, to_us: period.from_us };
        }
        None
    }

    /// Its end, as NVML stamps it.
    pub fn timestamp_us(self) -> u64 {
        self.to_us.max(0).unsigned_abs()
    }
}

/// Memory-controller activity that goes with a busy percentage: kernels of the simulation read memory half the time.
pub fn memory_percent(sm_percent: u32) -> u32 {
    sm_percent / 2
}

/// The last end of a sample period that isn't after an instant.
fn floor(model: &Model, at_us: i64) -> i64 {
    let since = at_us.saturating_sub(model.start_us);
    model.start_us + since.div_euclid(model.period_us) * model.period_us
}
