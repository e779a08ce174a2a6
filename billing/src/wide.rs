//! `a x b / d` where the product needs 256 bits: shares of large sums stay exact.

/// The quotient and remainder of `a * b / d`, exact. `d` is not zero and the quotient fits 128 bits, which holds
/// wherever `a <= d` or `b <= d`.
pub(crate) fn mul_div(a: u128, b: u128, d: u128) -> (u128, u128) {
    if let Some(product) = a.checked_mul(b) {
        return (product / d, product % d);
    }
    let (mut high, mut low) = mul(a, b);
    assert!(high < d, "a quotient of {a} x {b} / {d} does not fit 128 bits");
    // Long division, a bit at a time: `high` is the remainder so far, the quotient moves into `low` from the right.
    for _ in 0..128 {
        let carried = high >> 127 == 1;
        high = (high << 1) | (low >> 127);
        low <<= 1;
        if carried || high >= d {
            high = high.wrapping_sub(d);
            low |= 1;
        }
    }
    (low, high)
}

/// The high and low halves of a product, by schoolbook in 64-bit digits.
fn mul(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let mid = a1 * b0 + ((a0 * b0) >> 64);
    let mid2 = a0 * b1 + (mid & LOW);
    (a1 * b1 + (mid >> 64) + (mid2 >> 64), (mid2 << 64) | ((a0 * b0) & LOW))
}

/// Cuts `total` in proportion to `weights`: `floor(total x weight / sum)` each, and the units that are left one each to
/// the largest remainders, ties to the earlier. The parts sum to `total` exactly; all weights zero gives all zeros.
pub(crate) fn apportion(total: u128, weights: &[u128]) -> Vec<u128> {
    let sum: u128 = weights.iter().sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<(u128, u128)> = weights.iter().map(|w| mul_div(*w, total, sum)).collect();
    let mut parts: Vec<u128> = exact.iter().map(|(whole, _)| *whole).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(exact[*i].1), *i));
    let left = total - parts.iter().sum::<u128>();
    for i in order.into_iter().take(usize::try_from(left).expect("fewer units are left than there are parts"))
    {
        parts[i] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wide_division_is_that_of_big_integers(a: u128, b: u128, d in 1u128..) {
            let (a, b) = (a % d, b);
            let (q, r) = mul_div(a, b, d);
            let product = BigUint::from(a) * BigUint::from(b);
            prop_assert_eq!(BigUint::from(q) * BigUint::from(d) + BigUint::from(r), product);
            prop_assert!(r < d);
        }

        #[test]
        fn parts_sum_to_the_total_and_are_within_one_of_their_share(
            total in 0u128..1 << 100,
            weights in prop::collection::vec(0u128..1 << 100, 1..30),
        ) {
            let parts = apportion(total, &weights);
            let sum: u128 = weights.iter().sum();
            prop_assert_eq!(parts.iter().sum::<u128>(), if sum == 0 { 0 } else { total });
            for (part, weight) in parts.iter().zip(&weights) {
                if sum > 0 {
                    let floor = mul_div(*weight, total, sum).0;
                    prop_assert!(*part == floor || *part == floor + 1);
                }
            }
        }
    }
}
