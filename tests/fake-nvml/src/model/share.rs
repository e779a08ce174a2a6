//! Dividing one engine among those who ask for it: nobody gets more than asked for, all together never more than the
//! whole, and where they ask for more each gets its part.

use std::collections::BTreeSet;

use crate::series::Steps;

/// All of a GPU or compute instance, busy all the time: 100 %, in parts per billion.
pub const FULL: u64 = 1_000_000_000;

/// What each gets, given what each asks for. The parts of an oversubscribed instant sum to [`FULL`] exactly.
pub fn share(asked: &[Steps]) -> Vec<Steps> {
    let mut edges: Vec<(i64, usize, u64)> = Vec::new();
    for (who, steps) in asked.iter().enumerate() {
        edges.extend(steps.points().map(|(at_us, value)| (at_us, who, value)));
    }
    edges.sort_unstable();

    let mut wants = vec![0; asked.len()];
    let mut active = BTreeSet::new();
    let mut total = 0;
    let mut given: Vec<Vec<(i64, u64)>> = vec![Vec::new(); asked.len()];
    let mut rest = edges.as_slice();
    while let Some(&(at_us, ..)) = rest.first() {
        let (now, later) = rest.split_at(rest.partition_point(|edge| edge.0 == at_us));
        rest = later;
        let was_oversubscribed = total > FULL;
        for &(_, who, value) in now {
            total = total - wants[who] + value;
            wants[who] = value;
            if value > 0 {
                active.insert(who);
            } else {
                active.remove(&who);
                given[who].push((at_us, 0));
            }
        }
        if total <= FULL && !was_oversubscribed {
            for &(_, who, value) in now.iter().filter(|edge| edge.2 > 0) {
                given[who].push((at_us, value));
            }
            continue;
        }
        let mut asked_so_far = 0;
        for &who in &active {
            let from = part(asked_so_far, total);
            asked_so_far += wants[who];
            given[who].push((at_us, part(asked_so_far, total) - from));
        }
    }
    given.into_iter().map(Steps::new).collect()
}

/// `asked` of `total`, of the whole where `total` is more than it.
fn part(asked: u64, total: u64) -> u64 {
    if total <= FULL {
        return asked;
    }
    let part = u128::from(asked) * u128::from(FULL) / u128::from(total);
    u64::try_from(part).expect("a part of the whole is no more than the whole")
}

#[cfg(test)]
mod tests {
    use super::{FULL, share};
    use crate::series::Steps;

    #[test]
    fn who_asks_for_more_than_the_whole_together_gets_the_whole_in_parts() {
        let asked = [
            Steps::new([(0, FULL), (30, 0)]),
            Steps::new([(10, FULL / 2), (20, 0)]),
            Steps::new([(10, FULL / 2), (20, 0)]),
        ];
        let given = share(&asked);
        let at = |t| given.iter().map(|steps| steps.value_at(t)).collect::<Vec<_>>();
        assert_eq!(at(5), [FULL, 0, 0]);
        assert_eq!(at(15), [FULL / 2, FULL / 4, FULL / 4]);
        assert_eq!(at(25), [FULL, 0, 0]);
        assert_eq!(at(30), [0, 0, 0]);
    }

    #[test]
    fn parts_that_do_not_divide_sum_to_the_whole_all_the_same() {
        let given = share(&vec![Steps::new([(0, FULL)]); 3]);
        assert_eq!(given.iter().map(|steps| steps.value_at(0)).sum::<u64>(), FULL);
    }
}
