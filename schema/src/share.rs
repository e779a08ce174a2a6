//! A share of a device as an exact fraction; rounding waits for the hour close.

use serde::{Deserialize, Serialize};

/// `num / den` of one whole device. `den` is never zero; the fraction is kept as it was stated (4/8 stays 4/8 only if
/// the scheduler said so; shares made here are reduced).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    /// Parts held.
    pub num: u32,
    /// Parts in the whole device.
    pub den: u32,
}

impl Share {
    /// The whole device.
    pub const WHOLE: Share = Share { num: 1, den: 1 };
    /// Nothing of the device.
    pub const NONE: Share = Share { num: 0, den: 1 };

    /// `num / den` in lowest terms; `den` must not be zero.
    pub fn new(num: u32, den: u32) -> Self {
        assert!(den > 0, "a share needs parts to be a share of");
        let g = gcd(num, den);
        Self { num: num / g, den: den / g }
    }

    /// This share of a share: a slot of an instance of a device.
    pub fn of(self, whole: Share) -> Share {
        Share::new(self.num * whole.num, self.den * whole.den)
    }
}

/// `1` or `3/7`.
impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Cuts `total` into whole parts in proportion to `weights` by largest remainder; ties go to the earlier part, so the
/// same input always gives the same parts. The parts sum to `total` exactly; all weights zero gives all zeros.
///
/// ```
/// assert_eq!(schema::share::split_largest_remainder(10, &[1, 1, 1]), [4, 3, 3]);
/// ```
pub fn split_largest_remainder(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|w| u128::from(*w)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |w: &u64| u128::from(total) * u128::from(*w);
    let mut parts: Vec<u64> = weights
        .iter()
        .map(|w| u64::try_from(exact(w) / sum).expect("a part is no more than the total"))
        .collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(exact(&weights[*i]) % sum), *i));
    let left = total - parts.iter().sum::<u64>();
    for i in order.into_iter().take(usize::try_from(left).expect("fewer units are left than there are parts"))
    {
        parts[i] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_sum_to_the_total(total in 0u64..u64::MAX / 2, weights in prop::collection::vec(0u64..1 << 40, 1..40)) {
            let parts = split_largest_remainder(total, &weights);
            let want = if weights.iter().all(|w| *w == 0) { 0 } else { total };
            prop_assert_eq!(parts.iter().sum::<u64>(), want);
        }
    }

    #[test]
    fn a_slot_of_an_instance_is_a_share_of_the_device() {
        assert_eq!(Share::new(1, 2).of(Share::new(1, 7)), Share { num: 1, den: 14 });
        assert_eq!(Share::new(4, 8).to_string(), "1/2");
    }
}
