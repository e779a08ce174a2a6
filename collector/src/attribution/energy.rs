//! Energy: the device's counter, divided. What the device draws under no load goes to whoever holds it (or an instance
//! of it) alone, the rest follows busy time; what is left is nobody's.

use schema::share::{Share, split_largest_remainder};

/// A stretch's energy and what it is divided by.
#[derive(Debug)]
pub struct EnergyInput<'a> {
    /// Growth of the device's counter, millijoules.
    pub total_mj: u64,
    /// Part of it that the device would have drawn under no load.
    pub idle_mj: u64,
    /// By row: the share held, and whether the place is held alone.
    pub held: &'a [(Share, bool)],
    /// By row: busy device time in any one unit; `None` where it isn't known.
    pub busy: Option<&'a [u64]>,
    /// Busy device time of nobody, in the same unit.
    pub ghost: u64,
}

/// Millijoules by row; together no more than the total.
pub fn attribute_energy(input: &EnergyInput<'_>) -> Vec<u64> {
    let idle = input.idle_mj.min(input.total_mj);
    let active = input.total_mj - idle;
    if let [(share, true)] = input.held
        && *share == Share::WHOLE
    {
        return vec![input.total_mj];
    }
    let by_busy = input.busy.filter(|busy| busy.iter().sum::<u64>() + input.ghost > 0);
    match (by_busy, input.busy.is_some()) {
        (Some(busy), _) => {
            let weights: Vec<u64> = busy.iter().copied().chain([input.ghost]).collect();
            let active = split_largest_remainder(active, &weights);
            by_hold(idle, input.held, true).iter().zip(active).map(|(a, b)| a + b).collect()
        }
        // Nobody was busy: all of it is what the device draws under no load.
        (None, true) => by_hold(input.total_mj, input.held, true),
        (None, false) => {
            let active = by_hold(active, input.held, false);
            by_hold(idle, input.held, true).iter().zip(active).map(|(a, b)| a + b).collect()
        }
    }
}

/// In proportion to the shares held, the rest of the device being nobody's.
fn by_hold(total: u64, held: &[(Share, bool)], only_alone: bool) -> Vec<u64> {
    held.iter()
        .map(|(share, alone)| {
            if only_alone && !alone {
                return 0;
            }
            let part = u128::from(total) * u128::from(share.num) / u128::from(share.den);
            u64::try_from(part).expect("a share of a u64 is one")
        })
        .collect()
}
