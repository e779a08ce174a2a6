//! From when to when an entry of the price book holds.

/// `[from, to)`, Unix milliseconds; without an end, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First instant at which it holds.
    pub from_ms: i64,
    /// First instant at which it no longer holds; `None` for ever.
    pub to_ms: Option<i64>,
}

impl Span {
    /// Whether it holds at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && self.to_ms.is_none_or(|to_ms| at_ms < to_ms)
    }

    /// Whether some instant lies in both.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.to_ms.is_none_or(|to_ms| other.from_ms < to_ms)
            && other.to_ms.is_none_or(|to_ms| self.from_ms < to_ms)
    }

    /// Whether every instant of the other lies in it.
    pub fn covers(&self, other: &Span) -> bool {
        let ends_after = match (self.to_ms, other.to_ms) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(others)) => others <= own,
        };
        self.from_ms <= other.from_ms && ends_after
    }

    /// Its start and its end, if it has one.
    pub fn edges(&self) -> impl Iterator<Item = i64> + use<> {
        [Some(self.from_ms), self.to_ms].into_iter().flatten()
    }
}
