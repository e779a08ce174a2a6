//! The rounds of the service: close the hours that have news, rate the days that they change, drop what no reader can see
//! any more. What a command needs of it at once is [`settle`].

use super::close::{close_dirty, first_hour_to_now};
use super::rate::{RatingError, rate_dirty};
use crate::config::Loaded;
use crate::metrics::Metrics;
use crate::store::close::Closed;
use crate::store::{QUERY_SECONDS_MAX, Store, StoreError};
use schema::window::Window;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a batch may take from its receipt to being seen: the quick look goes back this far.
const SLACK_MS: i64 = 15 * 60_000;
/// How often everything is looked at, silent devices and changed inventories too.
const FULL_MS: i64 = 60_000;
/// A superseded revision outlives every query that could still read it.
const SUPERSEDED_MS: i64 = 2 * QUERY_SECONDS_MAX as i64 * 1000;
/// Rating again takes at most this part of the time: the open day of a large fleet takes seconds and has news at once.
const RATING_PART: u32 = 20;

/// Closes every hour with news and rates the days of `window`: what a command that reads a bill does first. A service that
/// runs has done it; where none runs, it is done here.
///
/// # Errors
/// The store refuses or can't be reached.
pub async fn settle(store: &Store, config: &Loaded, window: Window) -> Result<(), RatingError> {
    close_dirty(&store.closer(), &config.cuts(), crate::clock::now_ms(), 0).await?;
    rate_dirty(store, config, window).await?;
    Ok(())
}

/// Runs until `stop` says so. An error is counted, logged and tried again. A configuration that was `edited` is put
/// `in_force` when the hours that it cuts are closed again and the days rated by it, so that no page shows half of it.
pub async fn run(
    store: Store,
    mut edited: watch::Receiver<Arc<Loaded>>,
    in_force: watch::Sender<Arc<Loaded>>,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let every = edited.borrow().close_interval();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut rounds = Rounds { store, metrics, full_at_ms: 0, quick_at_ms: 0, rating: None, owed: true };
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Ok(()) = edited.changed() => {}
            _ = stop.changed() => return,
        }
        let config = Arc::clone(&edited.borrow_and_update());
        let new = !Arc::ptr_eq(&config, &in_force.borrow());
        match rounds.round(&config, new).await {
            Ok(true) if new => {
                tracing::info!("an edited configuration is in force");
                in_force.send_replace(config);
            }
            Ok(_) => {}
            Err(error) => {
                rounds.metrics.close_errors.inc();
                tracing::warn!(error = crate::error::chain(&error), "could not close or rate; trying again");
            }
        }
    }
}

/// What a round knows of those before it.
struct Rounds {
    store: Store,
    metrics: Arc<Metrics>,
    full_at_ms: i64,
    quick_at_ms: i64,
    /// When rating last began, and how long it took for a day.
    rating: Option<(Instant, Duration)>,
    /// Hours were closed whose days aren't rated yet.
    owed: bool,
}

impl Rounds {
    /// One round; says whether everything that is closed is rated.
    async fn round(&mut self, config: &Loaded, new: bool) -> Result<bool, RatingError> {
        let now_ms = crate::clock::now_ms();
        let full = new || now_ms - self.full_at_ms >= FULL_MS;
        let since_ms = if full { 0 } else { self.quick_at_ms - SLACK_MS };
        let closed = close_dirty(&self.store.closer(), &config.cuts(), now_ms, since_ms).await?;
        self.quick_at_ms = now_ms;
        self.count(&closed);
        self.owed |= closed.hours > 0 || full;
        let settled = self.rate(config, now_ms, new).await?;
        if settled {
            self.metrics.last_close.set(now_ms / 1000);
        }
        if full {
            self.full_at_ms = now_ms;
            self.drop_superseded(config, now_ms - SUPERSEDED_MS).await?;
        }
        Ok(settled)
    }

    fn count(&self, closed: &Closed) {
        self.metrics.hours_closed.inc_by(closed.hours);
        self.metrics.hours_broken.inc_by(closed.broken.len() as u64);
        if !closed.broken.is_empty() {
            tracing::error!(hours_s = ?closed.broken, "hours do not add up and were not published");
        }
    }

    async fn rate(&mut self, config: &Loaded, now_ms: i64, new: bool) -> Result<bool, RatingError> {
        if !self.owed {
            return Ok(true);
        }
        let rests = |(began, took): (Instant, Duration)| began.elapsed() < took * RATING_PART;
        if !new && self.rating.is_some_and(rests) {
            return Ok(false);
        }
        let Some(window) = first_hour_to_now(&self.store.closer(), now_ms).await? else { return Ok(true) };
        let began = Instant::now();
        let days = rate_dirty(&self.store, config, window).await?;
        self.metrics.days_rated.inc_by(days);
        // What has news next is the open day: many days at once, as after a backfill, don't make it wait.
        let a_day = began.elapsed() / u32::try_from(days).unwrap_or(u32::MAX).max(1);
        self.rating = Some((began, a_day));
        self.owed = false;
        Ok(true)
    }

    async fn drop_superseded(&self, config: &Loaded, before_ms: i64) -> Result<(), StoreError> {
        self.store.closer().drop_superseded(before_ms).await?;
        self.store.writer().drop_superseded_days(&config.rules_name(), before_ms).await?;
        Ok(())
    }
}
