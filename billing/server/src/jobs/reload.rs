//! Edits of tenants.toml and prices.toml while the service runs: looked for every few seconds, and at once on SIGHUP.
//!
//! A good edit becomes a new version and goes to the hour close, which puts it in force when the hours that it cuts are closed
//! again. A wrong one, or a file that is gone, is logged and counted, and what was in force stays.

use crate::config::{ConfigError, Loaded};
use crate::metrics::Metrics;
use crate::store::Store;
use schema::window::Window;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::Signal;
use tokio::sync::watch;

/// How often the files are looked at. An edit is taken when two looks in a row find the same: half a file, written by an
/// editor at that moment, can be a file too.
const LOOK: Duration = Duration::from_secs(2);

/// Files that may be edited while the service runs.
pub const FILES: [&str; 2] = ["prices.toml", "tenants.toml"];

/// What was last read of a file: `None` where it is gone.
type Read = Option<String>;

/// Runs until `stop` says so. `edited` holds the newest good configuration.
pub async fn run(
    store: Store,
    edited: watch::Sender<Arc<Loaded>>,
    metrics: Arc<Metrics>,
    mut hangup: Signal,
    mut stop: watch::Receiver<bool>,
) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut looks = Looks::default();
    loop {
        let at_once = tokio::select! {
            _ = ticks.tick() => false,
            _ = hangup.recv() => true,
            _ = stop.changed() => return,
        };
        let loaded = Arc::clone(&edited.borrow());
        let Some(next) = looks.look(&loaded, &store, at_once, &metrics).await else { continue };
        match store.keep_versions(&next, crate::clock::now_ms()).await {
            Ok(()) => {
                tracing::info!(
                    prices = next.prices.hash(),
                    tenants = next.tenants.hash(),
                    "configuration files were edited"
                );
                looks.tried = Default::default();
                edited.send_replace(Arc::new(next));
            }
            Err(error) => {
                tracing::warn!(error = crate::error::chain(&error), "could not keep an edit; trying again");
            }
        }
    }
}

/// What earlier looks found.
#[derive(Default)]
struct Looks {
    /// The last look's content of each file, where it isn't what is in force.
    seen: [Option<Read>; 2],
    /// Content that was wrong, so that it is logged once.
    tried: [Option<Read>; 2],
    /// slicemeter.toml as it was when it was last said that it needs a restart.
    warned: Option<String>,
}

impl Looks {
    /// The configuration with what was edited, if anything was and is right.
    async fn look(
        &mut self,
        loaded: &Loaded,
        store: &Store,
        at_once: bool,
        metrics: &Metrics,
    ) -> Option<Loaded> {
        self.look_at_main(loaded).await;
        let mut next = None;
        for (at, name) in FILES.into_iter().enumerate() {
            let read = read(&loaded.directory.join(name)).await;
            let in_force = loaded.content(name);
            // A file that never was is as good as an empty one.
            if read.as_deref() == Some(in_force) || (read.is_none() && in_force.is_empty()) {
                self.seen[at] = None;
                self.tried[at] = None;
                metrics.config_load_failed.with_label_values(&[name]).set(0);
                continue;
            }
            if !at_once && self.seen[at].as_ref() != Some(&read) {
                self.seen[at] = Some(read);
                continue;
            }
            let metered = match store.reader().metered(crate::clock::now_ms()).await {
                Ok(metered) => metered,
                Err(error) => {
                    let error = crate::error::chain(&error);
                    tracing::warn!(error, "could not compare an edit with what is metered; trying again");
                    return None;
                }
            };
            let base = next.as_ref().unwrap_or(loaded);
            match with(base, name, &read, metered) {
                Ok(good) => {
                    metrics.config_load_failed.with_label_values(&[name]).set(0);
                    next = Some(good);
                }
                Err(error) => {
                    metrics.config_load_failed.with_label_values(&[name]).set(1);
                    if self.tried[at].as_ref() != Some(&read) {
                        tracing::error!(
                            error = crate::error::chain(&error),
                            "an edited file is wrong; the one before stays in force"
                        );
                    }
                    self.tried[at] = Some(read);
                }
            }
        }
        next
    }

    /// Zone, currency, addresses and the store are those of the start.
    async fn look_at_main(&mut self, loaded: &Loaded) {
        let Some(content) = read(&loaded.directory.join(&loaded.main)).await else { return };
        if content != loaded.content("slicemeter.toml") && self.warned.as_ref() != Some(&content) {
            tracing::warn!("slicemeter.toml was edited: restart the service to use it");
            self.warned = Some(content);
        }
    }
}

fn with(loaded: &Loaded, name: &'static str, read: &Read, metered: Window) -> Result<Loaded, ConfigError> {
    match read {
        Some(content) => loaded.edited(name, content, metered),
        None => Err(ConfigError::Gone { path: loaded.directory.join(name) }),
    }
}

/// A file's content; `None` where it can't be read as text.
async fn read(path: &Path) -> Read {
    tokio::fs::read_to_string(path).await.ok()
}
