//! From when to when an entry holds.

use schema::window::Window;

/// Half-open; without an end for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Valid {
    /// First instant at which it holds, Unix milliseconds.
    pub from_ms: i64,
    /// First instant at which it no longer holds; `None` for ever.
    pub to_ms: Option<i64>,
}

impl Valid {
    /// Whether it holds at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && self.to_ms.is_none_or(|to_ms| at_ms < to_ms)
    }

    /// The part of a window in which it holds, if any.
    pub fn within(&self, window: Window) -> Option<Window> {
        let end_ms = self.to_ms.map_or(window.end_ms, |to_ms| to_ms.min(window.end_ms));
        let start_ms = self.from_ms.max(window.start_ms);
        (start_ms < end_ms).then(|| Window::new(start_ms, end_ms))
    }

    /// Whether both hold at some instant.
    pub fn overlaps(&self, other: &Valid) -> bool {
        let ends_after = |a: &Valid, b: &Valid| a.to_ms.is_none_or(|to_ms| b.from_ms < to_ms);
        ends_after(self, other) && ends_after(other, self)
    }

    /// Its first instant and its end, where it has one.
    pub fn edges(&self) -> impl Iterator<Item = i64> + use<> {
        [Some(self.from_ms), self.to_ms].into_iter().flatten()
    }
}
