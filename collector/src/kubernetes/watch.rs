//! A mirror of one kind of object: list, then watch from there, for ever. The law: after every break either the watch
//! goes on from the version it had reached, or everything is listed anew and what vanished meanwhile is told so.

use super::api::{Api, ApiError, WATCH_SECONDS};
use super::health::{Health, Source};
use super::objects::{Event, List, Notice, Versioned};
use serde::de::DeserializeOwned;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where changes go.
pub trait Mirror<T>: Send {
    /// Everything there is now; what isn't among it is gone.
    fn replaced(&mut self, all: Vec<T>);
    /// An object came or changed.
    fn applied(&mut self, object: T);
    /// An object went; this is its last state.
    fn deleted(&mut self, object: T);
}

/// What to mirror.
#[derive(Debug, Clone)]
pub struct Kind {
    /// For health.
    pub source: Source,
    /// Paths of the API to try in order, newest version first.
    pub paths: Vec<String>,
    /// Limits the list: `spec.nodeName%3Dnode-1`.
    pub field_selector: Option<String>,
    /// Ask for metadata only.
    pub metadata_only: bool,
}

/// Objects on one page.
const PAGE: u32 = 250;

impl Kind {
    fn query(&self) -> String {
        let selector = self.field_selector.as_ref();
        selector.map(|selector| format!("&fieldSelector={selector}")).unwrap_or_default()
    }

    fn accept(&self, is_list: bool) -> &'static str {
        match (self.metadata_only, is_list) {
            (false, _) => "application/json",
            (true, true) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            (true, false) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        }
    }
}

/// Tells threads to end, and lets them wait without missing it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Tells everyone.
    pub fn stop(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Whether it was told.
    pub fn is_stopped(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but not past the end; whether to end.
    pub fn wait(&self, pause: Duration) -> bool {
        let stopped = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(stopped, pause, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// First and longest pause after a failure.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Pauses that double up to a bound, and start anew after a success.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    next: Duration,
    bounds: (Duration, Duration),
}

impl Backoff {
    /// Between the shortest and the longest pause.
    pub fn new(shortest: Duration, longest: Duration) -> Self {
        Self { next: shortest, bounds: (shortest, longest) }
    }

    /// The pause after one more failure.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (self.next * 2).min(self.bounds.1);
        pause
    }

    /// It worked.
    pub fn reset(&mut self) {
        self.next = self.bounds.0;
    }
}

/// A mirror's surroundings.
pub struct Mirroring<'a> {
    /// Whom to ask.
    pub api: &'a Api,
    /// What to mirror.
    pub kind: &'a Kind,
    /// Where success and failure are counted.
    pub health: &'a Health,
    /// The wall clock, Unix milliseconds.
    pub now_ms: &'a dyn Fn() -> i64,
    /// When to end.
    pub stop: &'a Stop,
}

/// A watch that lasted so long worked, whether or not anything happened.
const LASTED: Duration = Duration::from_secs(5);

impl Mirroring<'_> {
    /// Mirrors until told to stop.
    pub fn run<T: Versioned + DeserializeOwned>(&self, into: &mut dyn Mirror<T>) {
        let (kind, health) = (self.kind, self.health);
        let mut backoff = Backoff::new(PAUSE.0, PAUSE.1);
        let mut path_at = 0;
        while !self.stop.is_stopped() {
            let path = &kind.paths[path_at % kind.paths.len()];
            let listed = self.list(path).map(|(objects, version)| {
                health.succeeded(kind.source, (self.now_ms)());
                into.replaced(objects);
                version
            });
            let ended = listed.and_then(|mut version| {
                backoff.reset();
                self.follow(path, &mut version, into)
            });
            let Err(error) = ended else { return };
            health.failed(kind.source, error.reason());
            match error {
                // The version was too old: this is how a watch that fell behind goes on.
                ApiError::Gone | ApiError::Status { status: 410, .. } => continue,
                // An API server of another version: the next path may be known to it.
                ApiError::Status { status: 404, .. } => path_at += 1,
                _ => {}
            }
            tracing::debug!(
                source = kind.source.label(),
                error = &error as &dyn std::error::Error,
                "mirror broke"
            );
            if self.stop.wait(backoff.pause()) {
                return;
            }
        }
    }

    fn list<T: DeserializeOwned>(&self, path: &str) -> Result<(Vec<T>, String), ApiError> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let after = if next.is_empty() { String::new() } else { format!("&continue={next}") };
            let url = format!("{path}?limit={PAGE}{}{after}", self.kind.query());
            let page: List<T> = self.api.get(&url, self.kind.accept(true))?;
            all.extend(page.items.unwrap_or_default());
            if page.metadata.next.is_empty() {
                return Ok((all, page.metadata.resource_version));
            }
            next = percent(&page.metadata.next);
        }
    }

    /// Watches on, connection after connection, until told to stop or refused.
    fn follow<T: Versioned + DeserializeOwned>(
        &self,
        path: &str,
        version: &mut String,
        into: &mut dyn Mirror<T>,
    ) -> Result<(), ApiError> {
        let mut backoff = Backoff::new(PAUSE.0, PAUSE.1);
        while !self.stop.is_stopped() {
            let before = version.clone();
            let opened = Instant::now();
            match self.lines(path, version, into) {
                Ok(()) => {}
                // What broke on the way is taken up where it was; what was refused begins anew.
                Err(error @ (ApiError::Broken(_) | ApiError::Http { .. })) => {
                    self.health.failed(self.kind.source, error.reason())
                }
                Err(error) => return Err(error),
            }
            if *version != before || opened.elapsed() >= LASTED {
                backoff.reset();
            } else if self.stop.wait(backoff.pause()) {
                break;
            }
        }
        Ok(())
    }

    fn lines<T: Versioned + DeserializeOwned>(
        &self,
        path: &str,
        version: &mut String,
        into: &mut dyn Mirror<T>,
    ) -> Result<(), ApiError> {
        let query = self.kind.query();
        let url = format!(
            "{path}?watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={version}{query}"
        );
        let mut lines = self.api.watch(&url, self.kind.accept(false))?;
        self.health.succeeded(self.kind.source, (self.now_ms)());
        while let Some(line) = lines.next_line()? {
            if self.stop.is_stopped() {
                return Ok(());
            }
            let what: Word = serde_json::from_slice(line).map_err(ApiError::Decode)?;
            match what.kind.as_str() {
                "BOOKMARK" | "ERROR" => {
                    let notice: Notice = serde_json::from_slice(line).map_err(ApiError::Decode)?;
                    match (notice.kind.as_str(), notice.object.code) {
                        ("ERROR", 410) => return Err(ApiError::Gone),
                        ("ERROR", status) => return Err(ApiError::Status { status, path: url }),
                        _ => *version = notice.object.metadata.resource_version,
                    }
                }
                kind => {
                    let event: Event<T> = serde_json::from_slice(line).map_err(ApiError::Decode)?;
                    version.clone_from(&event.object.meta().resource_version);
                    if kind == "DELETED" { into.deleted(event.object) } else { into.applied(event.object) }
                }
            }
            self.health.succeeded(self.kind.source, (self.now_ms)());
        }
        Ok(())
    }
}

/// Continue tokens are base64, whose `+`, `/` and `=` mean something in a query.
fn percent(text: &str) -> String {
    text.replace('%', "%25").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}

/// Only what a line is about.
#[derive(serde::Deserialize)]
struct Word {
    #[serde(rename = "type")]
    kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_bound_and_start_anew() {
        let s = Duration::from_secs;
        let mut backoff = Backoff::new(s(1), s(4));
        assert_eq!(
            [backoff.pause(), backoff.pause(), backoff.pause(), backoff.pause()],
            [s(1), s(2), s(4), s(4)]
        );
        backoff.reset();
        assert_eq!(backoff.pause(), s(1));
    }

    #[test]
    fn a_stop_ends_a_wait_that_would_last_for_ever() {
        let stop = Stop::default();
        let other = stop.clone();
        let waiter = std::thread::spawn(move || other.wait(Duration::MAX));
        stop.stop();
        assert!(waiter.join().expect("waiter"));
    }
}
