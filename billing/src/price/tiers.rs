//! Prices that fall with quantity, over the billing period, for each tenant and entry.
//!
//! Graduated: each part of the quantity pays the price of the tier that it lies in. Volume: the whole quantity pays the
//! price of the tier that its sum reaches.

use crate::money::UnitPrice;

/// How tiers are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TierMode {
    /// Each part pays the price of its own tier.
    Graduated,
    /// All pay the price of the tier that the sum reaches.
    Volume,
}

/// One tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// The last of the quantity that belongs to it, 1e-9 of the entry's unit, counted from the period's start; `None` in
    /// the last tier.
    pub up_to_nano: Option<i64>,
    /// What one costs; of an entry in service units, how many of them one costs.
    pub price: UnitPrice,
}

/// The tiers of an entry, at least one; a flat price is a single tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers {
    /// How they are counted.
    pub mode: TierMode,
    /// Ascending; only the last is open.
    pub tiers: Vec<Tier>,
}

/// A part of a line in one tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The line, by its place in what was split.
    pub line: usize,
    /// The tier, from 0.
    pub tier: u32,
    /// Its part of the line's quantity, 1e-9 of the unit.
    pub nano: i64,
}

impl Tiers {
    /// One price for any quantity.
    pub fn flat(price: UnitPrice) -> Self {
        Self { mode: TierMode::Graduated, tiers: vec![Tier { up_to_nano: None, price }] }
    }

    /// Whether there is one price only.
    pub fn is_flat(&self) -> bool {
        self.tiers.len() == 1
    }

    /// The tier of that number, from 0; the last where there are fewer.
    pub fn tier(&self, tier: u32) -> Tier {
        let at = usize::try_from(tier).map_or(usize::MAX, |at| at);
        self.tiers[at.min(self.tiers.len() - 1)]
    }

    /// Cuts the lines of one tenant and entry in a billing period, in the order in which they count, at the bounds of the
    /// tiers. The pieces of a line sum to the line; a line of nothing is one piece of nothing. A negative quantity gives
    /// back what was counted last.
    pub fn split(&self, lines_nano: &[i64]) -> Vec<Piece> {
        match self.mode {
            TierMode::Graduated => self.graduated(lines_nano),
            TierMode::Volume => {
                let sum: i128 = lines_nano.iter().map(|nano| i128::from(*nano)).sum();
                // A bound belongs to the tier that it ends.
                let tier = self.position(|bound| sum <= bound);
                let piece = |(line, nano): (usize, &i64)| Piece { line, tier, nano: *nano };
                lines_nano.iter().enumerate().map(piece).collect()
            }
        }
    }

    fn graduated(&self, lines_nano: &[i64]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(lines_nano.len());
        let mut counted: i128 = 0;
        for (line, nano) in lines_nano.iter().enumerate() {
            let (low, high) =
                (counted.min(counted + i128::from(*nano)), counted.max(counted + i128::from(*nano)));
            let before = pieces.len();
            let mut start = i128::MIN;
            for (tier, row) in (0u32..).zip(&self.tiers) {
                let end = row.up_to_nano.map_or(i128::MAX, i128::from);
                let part = high.min(end) - low.max(start);
                if part > 0 {
                    let part = i64::try_from(part).expect("a part is no more than its line");
                    pieces.push(Piece { line, tier, nano: if *nano < 0 { -part } else { part } });
                }
                start = end;
            }
            if pieces.len() == before {
                pieces.push(Piece { line, tier: self.position(|bound| counted < bound), nano: 0 });
            }
            counted += i128::from(*nano);
        }
        pieces
    }

    /// The first tier whose bound is enough; the open one always is.
    fn position(&self, enough: impl Fn(i128) -> bool) -> u32 {
        let at =
            self.tiers.iter().position(|tier| tier.up_to_nano.is_none_or(|bound| enough(i128::from(bound))));
        u32::try_from(at.expect("the last tier is open")).expect("few tiers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Exact;
    use proptest::prelude::*;
    use schema::units::NanoGpuHours;

    const HOUR: i64 = 1_000_000_000;

    fn tiers(mode: TierMode, bounds: &[i64]) -> Tiers {
        let bounds = bounds.iter().copied().map(Some).chain([None]);
        let tier = |(up_to_nano, price)| Tier { up_to_nano, price: UnitPrice(price) };
        Tiers { mode, tiers: bounds.zip((1..).map(|i| 4_000_000 / i)).map(tier).collect() }
    }

    fn pieces(tiers: &Tiers, lines: &[i64]) -> Vec<(usize, u32, i64)> {
        tiers.split(lines).into_iter().map(|p| (p.line, p.tier, p.nano)).collect()
    }

    #[test]
    fn each_part_pays_its_tier_where_tiers_are_graduated() {
        let tiers = tiers(TierMode::Graduated, &[1000 * HOUR, 2000 * HOUR]);
        let lines = [999 * HOUR, HOUR, 0, 1500 * HOUR];
        assert_eq!(
            pieces(&tiers, &lines),
            [(0, 0, 999 * HOUR), (1, 0, HOUR), (2, 1, 0), (3, 1, 1000 * HOUR), (3, 2, 500 * HOUR)]
        );
        assert_eq!(pieces(&tiers, &[1001 * HOUR, -2 * HOUR])[2..], [(1, 0, -HOUR), (1, 1, -HOUR)]);
    }

    #[test]
    fn the_sum_decides_for_all_where_tiers_are_by_volume() {
        let tiers = tiers(TierMode::Volume, &[1000 * HOUR]);
        assert_eq!(pieces(&tiers, &[600 * HOUR, 400 * HOUR]), [(0, 0, 600 * HOUR), (1, 0, 400 * HOUR)]);
        assert_eq!(pieces(&tiers, &[600 * HOUR, 400 * HOUR + 1])[1], (1, 1, 400 * HOUR + 1));
        assert_eq!(pieces(&tiers, &[]), []);
    }

    proptest! {
        #[test]
        fn pieces_sum_to_their_line_and_any_cut_of_lines_costs_the_same(
            lines in prop::collection::vec(0i64..3_000_000_000_000, 0..30),
            mut bounds in prop::collection::btree_set(1i64..20_000_000_000_000, 0..5),
            volume: bool,
        ) {
            let mode = if volume { TierMode::Volume } else { TierMode::Graduated };
            let bounds: Vec<i64> = std::mem::take(&mut bounds).into_iter().collect();
            let tiers = tiers(mode, &bounds);
            let cost = |lines: &[i64]| -> Exact {
                tiers.split(lines).iter().map(|p| Exact::of(NanoGpuHours(p.nano), tiers.tier(p.tier).price)).sum()
            };
            for (line, nano) in lines.iter().enumerate() {
                let sum: i64 = tiers.split(&lines).iter().filter(|p| p.line == line).map(|p| p.nano).sum();
                prop_assert_eq!(sum, *nano);
            }
            let halves: Vec<i64> = lines.iter().flat_map(|nano| [nano / 2, nano - nano / 2]).collect();
            prop_assert_eq!(cost(&halves), cost(&lines));
            let mut reversed = lines.clone();
            reversed.reverse();
            prop_assert_eq!(cost(&reversed), cost(&lines));
        }
    }
}
