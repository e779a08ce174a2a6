//! Half-open windows of UTC time, `[start, end)`, in Unix milliseconds.

use crate::units::HOUR_MS;
use serde::{Deserialize, Serialize};

/// `[start_ms, end_ms)` in Unix milliseconds UTC. The end is never part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Window {
    /// First millisecond of the window.
    pub start_ms: i64,
    /// First millisecond after the window.
    pub end_ms: i64,
}

impl Window {
    /// A window; `start_ms` must not be after `end_ms`.
    pub fn new(start_ms: i64, end_ms: i64) -> Self {
        assert!(start_ms <= end_ms, "a window's start {start_ms} is after its end {end_ms}");
        Self { start_ms, end_ms }
    }

    /// The UTC hour that `at_ms` lies in.
    pub fn hour_of(at_ms: i64) -> Self {
        let start_ms = at_ms.div_euclid(HOUR_MS) * HOUR_MS;
        Self { start_ms, end_ms: start_ms + HOUR_MS }
    }

    /// Length in milliseconds.
    pub fn len_ms(&self) -> i64 {
        self.end_ms - self.start_ms
    }

    /// Whether nothing lies in it.
    pub fn is_empty(&self) -> bool {
        self.start_ms == self.end_ms
    }

    /// Whether `at_ms` lies in it.
    pub fn contains(&self, at_ms: i64) -> bool {
        self.start_ms <= at_ms && at_ms < self.end_ms
    }

    /// What both windows cover, if anything.
    pub fn intersect(&self, other: &Window) -> Option<Window> {
        let (start_ms, end_ms) = (self.start_ms.max(other.start_ms), self.end_ms.min(other.end_ms));
        (start_ms < end_ms).then_some(Window { start_ms, end_ms })
    }

    /// The instants strictly inside it, ascending, each once.
    pub fn inside(&self, instants_ms: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let inside = |at: &i64| self.start_ms < *at && *at < self.end_ms;
        let mut inner: Vec<i64> = instants_ms.into_iter().filter(inside).collect();
        inner.sort_unstable();
        inner.dedup();
        inner
    }

    /// The window in pieces, cut at every instant of `cuts_ms` strictly inside it. The pieces tile the window.
    pub fn cut_at(&self, cuts_ms: &[i64]) -> Vec<Window> {
        let inner = self.inside(cuts_ms.iter().copied());
        let mut pieces = Vec::with_capacity(inner.len() + 1);
        let mut start_ms = self.start_ms;
        for cut in inner.into_iter().chain([self.end_ms]) {
            pieces.push(Window { start_ms, end_ms: cut });
            start_ms = cut;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_cut_window_tile_it() {
        let window = Window::new(0, 100);
        let pieces = window.cut_at(&[0, 30, 30, 100, 70, 200]);
        assert_eq!(pieces, [Window::new(0, 30), Window::new(30, 70), Window::new(70, 100)]);
    }
}
