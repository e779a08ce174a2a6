//! What a tenant's money went into: busy time, time held and not busy, and time whose use is unknown.

use crate::money::Amount;
use crate::rating::Line;
use crate::split::share_of;
use crate::wide::apportion;
use schema::units::NanoGpuHours;

/// A posted total in three parts that sum to it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct WhereItWent {
    /// Held and busy.
    pub busy: Amount,
    /// Held and not busy: waste.
    pub not_busy: Amount,
    /// Held, with use unknown.
    pub unknown: Amount,
}

impl WhereItWent {
    /// Cuts a posted total by the exact cost of each part; the odd unit goes to the largest remainder, ties to busy
    /// before not busy before unknown.
    pub fn of(lines: &[Line], total: Amount) -> Self {
        let sum = |part: fn(&Line) -> NanoGpuHours| lines.iter().map(|line| cost_of(line, part(line))).sum();
        let weights = [sum(Line::busy_held), sum(Line::not_busy_held), sum(Line::unknown_held)];
        let whole = u128::try_from(total.0).expect("usage is not negative");
        let parts = apportion(whole, &weights);
        let amount = |i: usize| Amount(i64::try_from(parts[i]).expect("a part is no more than the total"));
        Self { busy: amount(0), not_busy: amount(1), unknown: amount(2) }
    }
}

/// The part of a line's exact cost that falls to a part of its held time.
fn cost_of(line: &Line, part: NanoGpuHours) -> u128 {
    match (line.exact, line.sums.held) {
        (None, _) | (_, NanoGpuHours(0)) => 0,
        (Some(exact), held) => {
            u128::try_from(share_of(exact.0, part, held)).expect("held time and prices are not negative")
        }
    }
}
