//! What owners are entitled to, as shares that sum to no more than the place: entitlements may exceed it (thread limits
//! of MPS clients, slots that were given out twice), and are then scaled to it.

use schema::share::Share;

/// Parts of a whole: shares of slots, percents and slices all come out within a part of it.
const WHOLE: u64 = 1_000_000_000_000;

/// The shares of owners of whom each is entitled to these shares added up, and whether they had to be scaled down.
pub fn scale(entitlements: &[Vec<Share>]) -> (Vec<Share>, bool) {
    let parts = |share: &Share| WHOLE * u64::from(share.num) / u64::from(share.den);
    let sums: Vec<u64> = entitlements.iter().map(|own| own.iter().map(parts).sum()).collect();
    let total: u64 = sums.iter().sum();
    // A share that was rounded down is short of a whole by less than one part an entitlement.
    let over = total > WHOLE;
    let shares = entitlements.iter().zip(&sums).map(|(own, sum)| match (over, &own[..]) {
        (false, [one]) => *one,
        (false, _) => fraction(*sum, WHOLE),
        (true, _) => fraction(*sum, total),
    });
    (shares.collect(), over)
}

/// `num / den` with a denominator small enough to be multiplied on: rounded down, so that parts never exceed the whole.
fn fraction(num: u64, den: u64) -> Share {
    const DEN: u64 = 1_000_000;
    for small in 1..=1_000u64 {
        // Slots and percents have small denominators: found exactly, 1/3 stays 1/3.
        let near = (num * small + den / 2) / den;
        if (near * den).abs_diff(num * small) <= small * 2 {
            return Share::new(near as u32, small as u32);
        }
    }
    Share::new(u32::try_from(u128::from(num) * u128::from(DEN) / u128::from(den)).unwrap_or(0), DEN as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(entitlements: &[&[(u32, u32)]]) -> (Vec<String>, bool) {
        let all: Vec<Vec<Share>> = entitlements
            .iter()
            .map(|own| own.iter().map(|(num, den)| Share { num: *num, den: *den }).collect())
            .collect();
        let (shares, over) = scale(&all);
        (shares.iter().map(Share::to_string).collect(), over)
    }

    #[test]
    fn what_fits_stays_as_it_was_stated_and_what_does_not_is_scaled() {
        assert_eq!(shown(&[&[(1, 3)], &[(1, 3), (1, 3)]]), (vec!["1/3".into(), "2/3".into()], false));
        assert_eq!(shown(&[&[(30, 100)], &[(1, 2)]]), (vec!["30/100".into(), "1/2".into()], false));
        assert_eq!(shown(&[&[(50, 100)], &[(100, 100)]]), (vec!["1/3".into(), "2/3".into()], true));
        assert_eq!(shown(&[&[(1, 1)]]), (vec!["1".into()], false));
        assert_eq!(shown(&[]), (Vec::new(), false));
    }
}
