//! What is summed of usage: every figure of a line before it is priced. Sums are integers, so order and grouping are
//! nothing to them.

use super::LineBasis;
use crate::usage::UsageTotal;
use schema::units::NanoGpuHours;
use schema::window::Window;
use serde::{Deserialize, Serialize};

/// Sums over rows of usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// From the first to the last segment in it.
    pub span: Window,
    /// Time for which the share was held, milliseconds (device-, instance- or slot-time).
    pub natural_ms: i64,
    /// The part of it that the collector saw, milliseconds.
    pub observed_ms: i64,
    /// Device time held.
    pub held: NanoGpuHours,
    /// Device time that the charging basis makes of it.
    pub charged: NanoGpuHours,
    /// Device time known to be busy.
    pub busy: NanoGpuHours,
    /// Held device time whose use is unknown.
    pub unknown: NanoGpuHours,
    /// Energy, millijoules.
    pub energy_mj: i64,
    /// Memory held over time, byte-milliseconds.
    pub memory_byte_ms: u128,
}

impl Sums {
    /// Of one row, charged by the basis of its line.
    pub fn of(row: &UsageTotal, basis: LineBasis) -> Self {
        Self {
            span: row.segment,
            natural_ms: row.natural_ms,
            observed_ms: row.observed_ms,
            held: row.held,
            charged: basis.time_of(row),
            busy: row.busy,
            unknown: row.unknown,
            energy_mj: row.energy_mj,
            memory_byte_ms: row.memory_byte_ms,
        }
    }

    /// Adds others' sums of the same thing.
    pub fn add(&mut self, other: &Self) {
        self.span.start_ms = self.span.start_ms.min(other.span.start_ms);
        self.span.end_ms = self.span.end_ms.max(other.span.end_ms);
        self.natural_ms += other.natural_ms;
        self.observed_ms += other.observed_ms;
        self.held = self.held + other.held;
        self.charged = self.charged + other.charged;
        self.busy = self.busy + other.busy;
        self.unknown = self.unknown + other.unknown;
        self.energy_mj += other.energy_mj;
        self.memory_byte_ms += other.memory_byte_ms;
    }
}
