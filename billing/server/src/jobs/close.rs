//! The hour close as a loop: find dirty hours, close them oldest first, drop what no reader can see any more.
//!
//! The open hour is closed like any other, as a provisional revision, as often as it has news.

use crate::config::Loaded;
use crate::metrics::Metrics;
use crate::store::close::{Closed, Closer};
use crate::store::{QUERY_SECONDS_MAX, StoreError};
use billing::period::midnights_ms;
use chrono_tz::Tz;
use schema::units::HOUR_MS;
use schema::window::Window;
use std::sync::Arc;
use tokio::sync::watch;

/// Hours in one statement: far fewer statements for a backfilled month, and a bound on its memory.
const HOURS_AT_ONCE: usize = 24;
/// How long a batch may take from its receipt to being seen: the quick look goes back this far.
const SLACK_MS: i64 = 15 * 60_000;
/// How often everything is looked at, silent devices and changed inventories too.
const FULL_MS: i64 = 60_000;
/// A superseded revision outlives every query that could still read it.
const SUPERSEDED_MS: i64 = 2 * QUERY_SECONDS_MAX as i64 * 1000;

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
    let Some(first_ms) = closer.first_service_ms().await? else { return Ok(total) };
    let first = Window::hour_of(first_ms).start_ms;
    let span = Window::new(first, Window::hour_of(now_ms).end_ms.max(first));
    let cuts_ms = cuts.within(span);
    let dirty = closer.dirty(span, since_ms, &cuts_ms).await?;
    for hours in dirty.chunks(HOURS_AT_ONCE) {
        // Later than any before, even where the clock was set back; the low bits keep two services apart.
        let revision = next_revision(closer.last_revision().await?, now_ms);
        let closed = closer.close(hours, &cuts_ms, revision, crate::clock::now_ms()).await?;
        total.hours += closed.hours;
        total.contested += closed.contested;
        total.broken.extend(closed.broken);
    }
    Ok(total)
}

fn next_revision(last: u64, now_ms: i64) -> u64 {
    let low = u64::from(std::process::id()) & 0xfff;
    let by_clock = (u64::try_from(now_ms).unwrap_or(0) << 12) | low;
    by_clock.max((((last >> 12) + 1) << 12) | low)
}

/// Runs until `stop` says so. An error is counted, logged and tried again. A configuration that was `edited` is put
/// `in_force` when the hours that it cuts are closed again, so that no page shows a cut that isn't made.
pub async fn run(
    closer: Closer,
    mut edited: watch::Receiver<Arc<Loaded>>,
    in_force: watch::Sender<Arc<Loaded>>,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let every = edited.borrow().close_interval();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut full_at_ms, mut quick_at_ms) = (0, 0);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Ok(()) = edited.changed() => {}
            _ = stop.changed() => return,
        }
        let config = Arc::clone(&edited.borrow_and_update());
        let new = !Arc::ptr_eq(&config, &in_force.borrow());
        let now_ms = crate::clock::now_ms();
        let full = new || now_ms - full_at_ms >= FULL_MS;
        let since_ms = if full { 0 } else { quick_at_ms - SLACK_MS };
        match close_dirty(&closer, &config.cuts(), now_ms, since_ms).await {
            Ok(closed) => {
                quick_at_ms = now_ms;
                if full {
                    full_at_ms = now_ms;
                }
                if new {
                    tracing::info!(hours = closed.hours, "an edited configuration is in force");
                    in_force.send_replace(config);
                }
                metrics.hours_closed.inc_by(closed.hours);
                metrics.hours_broken.inc_by(closed.broken.len() as u64);
                metrics.last_close.set(now_ms / 1000);
                if !closed.broken.is_empty() {
                    tracing::error!(hours_s = ?closed.broken, "hours do not add up and were not published");
                }
            }
            Err(error) => {
                metrics.close_errors.inc();
                tracing::warn!(error = crate::error::chain(&error), "could not close hours; trying again");
            }
        }
        if full && let Err(error) = closer.drop_superseded(now_ms - SUPERSEDED_MS).await {
            tracing::warn!(error = crate::error::chain(&error), "could not drop superseded revisions");
        }
    }
}
