//! A sum of rows of other lines, rounded as those lines were.

use crate::money::{Amount, Currency, Exact};
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// Device time and cost of rows by the line that they are posted on.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    /// Device time with a price.
    pub priced: NanoGpuHours,
    /// Device time without.
    pub unpriced: NanoGpuHours,
    by_line: BTreeMap<String, Exact>,
}

impl Sum {
    /// Adds a row.
    pub fn add(&mut self, line: &str, held: NanoGpuHours, exact: Option<Exact>) {
        let Some(exact) = exact else {
            self.unpriced = self.unpriced + held;
            return;
        };
        self.priced = self.priced + held;
        match self.by_line.get_mut(line) {
            Some(sum) => *sum = *sum + exact,
            None => {
                self.by_line.insert(line.into(), exact);
            }
        }
    }

    /// All device time.
    pub fn held(&self) -> NanoGpuHours {
        self.priced + self.unpriced
    }

    /// The exact cost.
    pub fn exact(&self) -> Exact {
        self.by_line.values().copied().sum()
    }

    /// The posted cost: each line's part rounded once, so that the whole of a line is what the line posts.
    pub fn amount(&self, currency: &Currency) -> Amount {
        self.by_line.values().map(|exact| exact.round_half_even(currency)).sum()
    }
}
