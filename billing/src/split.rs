//! Cutting a whole into parts that sum to it, with a sign.

use crate::wide::{apportion, mul_div};
use schema::units::NanoGpuHours;

/// Cuts `total` in proportion to `weights` by largest remainder, ties to the earlier; a negative total gives negative
/// parts. The parts sum to `total` exactly, or are all zero where the weights are.
pub(crate) fn split(total: i64, weights: &[u128]) -> Vec<i64> {
    let sign = total.signum();
    let parts = apportion(u128::from(total.unsigned_abs()), weights);
    parts.into_iter().map(|part| sign * i64::try_from(part).expect("a part is at most the whole")).collect()
}

/// Cuts device time that isn't negative in proportion to device time.
pub(crate) fn split_time(total: NanoGpuHours, weights: &[NanoGpuHours]) -> Vec<NanoGpuHours> {
    let weights: Vec<u128> = weights.iter().map(|w| weight(*w)).collect();
    split(total.0, &weights).into_iter().map(NanoGpuHours).collect()
}

/// Device time as a weight.
pub(crate) fn weight(time: NanoGpuHours) -> u128 {
    u128::try_from(time.0).expect("device time is never negative")
}

/// `whole * part / of`, rounded down, for `part` at most `of`.
pub(crate) fn share_of(whole: i128, part: NanoGpuHours, of: NanoGpuHours) -> i128 {
    if part == of {
        return whole;
    }
    let (quotient, _) = mul_div(weight(part), whole.unsigned_abs(), weight(of));
    whole.signum() * i128::try_from(quotient).expect("a part is at most the whole")
}
