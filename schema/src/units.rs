//! Units as types. A number without one of these is a count; conversions between units happen only here.

use serde::{Deserialize, Serialize};

/// Milliseconds in an hour.
pub const HOUR_MS: i64 = 3_600_000;

/// Milliseconds in a quarter of an hour: zones, prices and mappings change on one, so that no row straddles it.
pub const QUARTER_MS: i64 = HOUR_MS / 4;

/// Nano-GPU-hours in one GPU-hour: quantities on a bill carry 9 decimals.
pub const NANO_PER_GPU_HOUR: i64 = 1_000_000_000;

/// A quantity of whole-device time in 1e-9 GPU-hours: the unit in which every device-hour is apportioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoGpuHours(pub i64);

impl NanoGpuHours {
    /// The device time of `[start_ms, end_ms)`, as a difference of cumulative floors since the Unix epoch, so that
    /// the parts of any cut hour sum to exactly one GPU-hour.
    ///
    /// ```
    /// use schema::units::NanoGpuHours;
    /// let (a, b) = (NanoGpuHours::of_span(0, 1), NanoGpuHours::of_span(1, 3_600_000));
    /// assert_eq!(a.0 + b.0, 1_000_000_000);
    /// ```
    pub fn of_span(start_ms: i64, end_ms: i64) -> Self {
        let at = |ms: i64| (i128::from(ms) * i128::from(NANO_PER_GPU_HOUR)).div_euclid(i128::from(HOUR_MS));
        Self(
            i64::try_from(at(end_ms) - at(start_ms)).expect("a span of Unix milliseconds fits 292 GPU-years"),
        )
    }
}

impl std::ops::Add for NanoGpuHours {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::Sub for NanoGpuHours {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl std::iter::Sum for NanoGpuHours {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), |a, b| a + b)
    }
}

/// `1.500000000`: always 9 decimals, so that a column of them can be added by hand.
impl std::fmt::Display for NanoGpuHours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let abs = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:09}", abs / 1_000_000_000, abs % 1_000_000_000)
    }
}
