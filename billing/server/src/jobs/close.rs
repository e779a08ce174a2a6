//! The hour close: find dirty hours and close them, oldest first.
//!
//! The open hour is closed like any other, as a provisional revision, as often as it has news.

use crate::store::StoreError;
use crate::store::close::{Closed, Closer};
use billing::period::midnights_ms;
use chrono_tz::Tz;
use schema::units::HOUR_MS;
use schema::window::Window;

/// Hours in one statement: far fewer statements for a backfilled month, and a bound on its memory.
const HOURS_AT_ONCE: usize = 24;

/// How often an hour that doesn't add up is rolled up at once: rows that arrive between the two halves of a roll-up are in one
/// of them only.
const TRIES: u32 = 5;

/// Where hours are cut, besides at their ends.
#[derive(Debug, Clone)]
pub struct Cuts {
    /// Zone whose midnights cut.
    pub zone: Tz,
    /// Instants at which a price changes, Unix milliseconds.
    pub changes_ms: Vec<i64>,
}

impl Cuts {
    /// The cuts strictly inside hours of `span`, ascending: others change nothing.
    pub fn within(&self, span: Window) -> Vec<i64> {
        let inside = |at: &i64| at.rem_euclid(HOUR_MS) != 0 && span.contains(*at);
        let mut cuts: Vec<i64> = midnights_ms(span, self.zone)
            .into_iter()
            .chain(self.changes_ms.iter().copied())
            .filter(inside)
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}

/// From the hour in which the first device came into service to the end of the open one; `None` where none ever did.
///
/// # Errors
/// The store refuses or can't be reached.
pub async fn first_hour_to_now(closer: &Closer, now_ms: i64) -> Result<Option<Window>, StoreError> {
    let first = closer.first_service_ms().await?.map(|first_ms| Window::hour_of(first_ms).start_ms);
    Ok(first.map(|first| Window::new(first, Window::hour_of(now_ms).end_ms.max(first))))
}

/// Closes every dirty hour from the first device's first sight to now, or only those with recent news.
///
/// # Errors
/// The store refuses or can't be reached. What was published before stays published.
pub async fn close_dirty(
    closer: &Closer,
    cuts: &Cuts,
    now_ms: i64,
    since_ms: i64,
) -> Result<Closed, StoreError> {
    let mut total = Closed::default();
    let Some(span) = first_hour_to_now(closer, now_ms).await? else { return Ok(total) };
    let cuts_ms = cuts.within(span);
    let dirty = closer.dirty(span, since_ms, &cuts_ms).await?;
    for hours in dirty.chunks(HOURS_AT_ONCE) {
        let mut left = hours.to_vec();
        for _ in 0..TRIES {
            // Later than any before, even where the clock was set back.
            let revision = next_revision(closer.last_revision().await?, now_ms);
            let closed = closer.close(&left, &cuts_ms, revision, crate::clock::now_ms()).await?;
            total.hours += closed.hours;
            total.contested += closed.contested;
            left.retain(|hour| closed.broken.contains(&hour.hour_s));
            if left.is_empty() {
                break;
            }
        }
        total.broken.extend(left.iter().map(|hour| hour.hour_s));
    }
    Ok(total)
}

/// The low bits of a revision, which keep apart what two services begin in one millisecond.
const REVISION_BITS: u32 = 20;

/// A revision later than `last`, by the clock where that is later. The low bits are random each time: process ids are the same
/// in two containers, and rows of two runs under one revision would count twice.
pub(crate) fn next_revision(last: u64, now_ms: i64) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let random = std::hash::RandomState::new().build_hasher().finish();
    let now_ms = u64::try_from(now_ms).unwrap_or(0);
    (now_ms.max((last >> REVISION_BITS) + 1) << REVISION_BITS) | (random >> (u64::BITS - REVISION_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_of_one_millisecond_differ_and_are_later_than_the_last_whatever_the_clock_says() {
        let now_ms = 1_796_000_000_000;
        let of_one_ms: std::collections::BTreeSet<u64> = (0..100).map(|_| next_revision(0, now_ms)).collect();
        assert!(of_one_ms.len() >= 99, "two of a hundred in a million may be the same, no more");
        let last = *of_one_ms.last().expect("some");
        for clock_ms in [now_ms - 60_000, now_ms, 0, -1] {
            assert!(next_revision(last, clock_ms) > last, "a clock at {clock_ms}");
        }
        assert!(*of_one_ms.first().expect("some") < next_revision(0, now_ms + 1));
    }
}
