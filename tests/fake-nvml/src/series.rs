//! A step function of time in integers, with its exact integral at any instant in O(log n).

/// One step: from `at_us` on, `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    at_us: i64,
    value: u64,
    /// Integral from the first step up to this one.
    before: u128,
}

/// A step function: zero before its first step, its last value for ever after the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    /// From `(instant in µs, value)`, in order of time. Steps that change nothing are left out.
    pub fn new(points: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for (at_us, value) in points {
            let before = match steps.last() {
                None if value == 0 => continue,
                Some(last) if last.value == value => continue,
                None => 0,
                Some(last) => last.before + area(last.value, last.at_us, at_us),
            };
            steps.push(Step { at_us, value, before });
        }
        Self { steps }
    }

    /// The sum of step functions.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Steps>) -> Self {
        let mut changes: Vec<(i64, i128)> = Vec::new();
        for part in parts {
            let mut last = 0;
            for step in &part.steps {
                changes.push((step.at_us, i128::from(step.value) - last));
                last = i128::from(step.value);
            }
        }
        changes.sort_unstable();
        let mut total = 0;
        let mut points: Vec<(i64, u64)> = Vec::with_capacity(changes.len());
        for (at_us, change) in changes {
            total += change;
            let value = u64::try_from(total.max(0)).expect("a sum of busy or memory fits 64 bits");
            match points.last_mut() {
                Some(last) if last.0 == at_us => last.1 = value,
                _ => points.push((at_us, value)),
            }
        }
        Self::new(points)
    }

    /// Every value times `numerator / denominator`, rounded down.
    pub fn scaled(&self, numerator: u64, denominator: u64) -> Self {
        let scale = |value: u64| u128::from(value) * u128::from(numerator) / u128::from(denominator);
        Self::new(self.points().map(|(at_us, value)| {
            (at_us, u64::try_from(scale(value)).expect("a share of a value is no larger than the value"))
        }))
    }

    /// `(instant, value from it on)`, in order.
    pub fn points(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.steps.iter().map(|step| (step.at_us, step.value))
    }

    /// The value at an instant.
    pub fn value_at(&self, at_us: i64) -> u64 {
        self.last_step(at_us).map_or(0, |step| step.value)
    }

    /// The integral from the beginning of time to an instant, in value × µs.
    pub fn integral_to(&self, at_us: i64) -> u128 {
        self.last_step(at_us).map_or(0, |step| step.before + area(step.value, step.at_us, at_us))
    }

    /// The integral over `[from_us, to_us)`, in value × µs.
    pub fn integral(&self, from_us: i64, to_us: i64) -> u128 {
        self.integral_to(to_us).saturating_sub(self.integral_to(from_us))
    }

    fn last_step(&self, at_us: i64) -> Option<&Step> {
        let after = self.steps.partition_point(|step| step.at_us <= at_us);
        after.checked_sub(1).map(|index| &self.steps[index])
    }
}

fn area(value: u64, from_us: i64, to_us: i64) -> u128 {
    u128::from(value) * u128::from(to_us.saturating_sub(from_us).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::Steps;

    #[test]
    fn the_integral_adds_up_over_any_cut() {
        let steps = Steps::new([(0, 3), (10, 0), (20, 7), (30, 0)]);
        assert_eq!(steps.integral_to(1_000), 30 + 70);
        for cut in -5..40 {
            assert_eq!(steps.integral(-5, cut) + steps.integral(cut, 40), 100, "cut at {cut}");
        }
        assert_eq!(
            (steps.value_at(-1), steps.value_at(9), steps.value_at(10), steps.value_at(25)),
            (0, 3, 0, 7)
        );
    }

    #[test]
    fn a_sum_has_the_sum_of_the_values_at_every_instant() {
        let (a, b) = (Steps::new([(0, 3), (10, 0)]), Steps::new([(5, 4), (10, 9), (15, 1)]));
        let sum = Steps::sum([&a, &b]);
        for at in -1..20 {
            assert_eq!(sum.value_at(at), a.value_at(at) + b.value_at(at), "at {at}");
        }
    }
}
