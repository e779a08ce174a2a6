//! Somebody on the node who is asked again and again in a thread of its own: the latest answer, and how asking goes. Nobody
//! waits for it, and an answer that doesn't come leaves nothing of the one before behind.

use crate::latest::Latest;
use crate::metrics::text::Text;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What one round of questions came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round<T> {
    /// What was said.
    pub said: T,
    /// Questions that were answered.
    pub answers: u64,
    /// Questions that weren't.
    pub failures: u64,
    /// Why, of the last that wasn't.
    pub error: Option<String>,
}

/// A name and a sentence for a counter.
pub type Family = (&'static str, &'static str);

#[derive(Debug, Default)]
struct Health {
    answers: AtomicU64,
    failures: AtomicU64,
    last_error: Mutex<Option<String>>,
}

/// The thread; it ends soon after this is dropped.
pub struct Polled<T> {
    latest: Latest<T>,
    health: Arc<Health>,
    _running: mpsc::Sender<()>,
}

impl<T: Default + Send + Sync + 'static> Polled<T> {
    /// Starts asking at once, and then every `period`.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn start(
        name: &str,
        period: Duration,
        mut ask: impl FnMut() -> Round<T> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (latest, health) = (Latest::default(), Arc::new(Health::default()));
        let (running, ended) = mpsc::channel();
        let (shared, kept) = (Latest::clone(&latest), health.clone());
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let round = ask();
                shared.publish(round.said);
                *kept.last_error.lock().unwrap_or_else(PoisonError::into_inner) = round.error;
                kept.answers.fetch_add(round.answers, Ordering::Release);
                kept.failures.fetch_add(round.failures, Ordering::Release);
                if ended.recv_timeout(period) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        })?;
        Ok(Self { latest, health, _running: running })
    }

    /// Where its word is found.
    pub fn latest(&self) -> &Latest<T> {
        &self.latest
    }

    /// Why the last round failed, in whole or in part; `None` where it didn't.
    pub fn last_error(&self) -> Option<String> {
        self.health.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its counters of answers and failures, under these names.
    pub fn render(&self, node: &str, answers: Family, failures: Family) -> String {
        let mut text = Text::default();
        for ((name, help), count) in [(answers, &self.health.answers), (failures, &self.health.failures)] {
            text.family(name, "counter", help);
            text.sample(&[("node", node)], count.load(Ordering::Acquire));
        }
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_fails_leaves_nothing_of_the_one_before_behind_and_says_why() {
        let mut rounds = [
            Round { said: vec![1], answers: 1, ..Round::default() },
            Round { failures: 1, error: Some("no contact".into()), ..Round::default() },
        ]
        .into_iter();
        // The thread waits here, so that each round can be looked at.
        let (go, gone) = mpsc::sync_channel::<()>(0);
        let polled = Polled::start("test", Duration::ZERO, move || {
            let _ = gone.recv();
            rounds.next().unwrap_or_default()
        })
        .expect("a thread");
        let page = || polled.render("n1", ("a_total", "A."), ("f_total", "F."));
        let until = |text: &str| {
            let deadline = std::time::Instant::now() + Duration::from_secs(60);
            while !page().contains(text) {
                assert!(std::time::Instant::now() < deadline, "{text} never came: {}", page());
                std::thread::yield_now();
            }
        };
        go.send(()).expect("it asks");
        until("a_total{node=\"n1\"} 1");
        assert_eq!((*polled.latest().current() == [1], polled.last_error()), (true, None));
        go.send(()).expect("it asks again");
        until("f_total{node=\"n1\"} 1");
        assert!(polled.latest().current().is_empty());
        assert_eq!(polled.last_error().as_deref(), Some("no contact"));
    }
}
