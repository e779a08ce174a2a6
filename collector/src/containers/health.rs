//! How asking about containers goes: counts that only grow, and the last thing that went wrong.

use super::register::Standing;
use crate::metrics::text::Text;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, Default)]
struct Counts {
    answers: u64,
    failures: u64,
    standing: Standing,
    last_error: Option<String>,
}

/// The counts; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<Counts>>);

impl Health {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answered(&self) {
        self.lock().answers += 1;
    }

    /// A question failed.
    pub(super) fn failed(&self) {
        self.lock().failures += 1;
    }

    /// A container lacks its name because of this.
    pub(super) fn lacks(&self, fault: String) {
        let mut counts = self.lock();
        if counts.last_error.as_ref() != Some(&fault) {
            tracing::warn!(error = fault, "containers can't be asked about; they are known by id alone");
        }
        counts.last_error = Some(fault);
    }

    /// How the containers stand; once none is awaited, nothing is wrong.
    pub(super) fn stands(&self, standing: Standing) {
        let mut counts = self.lock();
        counts.standing = standing;
        if standing.awaited == 0 {
            counts.last_error = None;
        }
    }

    /// Why containers lack their names; `None` where they don't.
    pub fn last_error(&self) -> Option<String> {
        self.lock().last_error.clone()
    }

    /// Questions that were answered, and that failed.
    pub fn counts(&self) -> (u64, u64) {
        let counts = self.lock();
        (counts.answers, counts.failures)
    }

    /// How the containers stand.
    pub fn standing(&self) -> Standing {
        self.lock().standing
    }

    /// Its metrics: `slicemeter_containers_*`.
    pub fn render(&self, node: &str) -> String {
        let counts = self.lock().clone();
        let mut text = Text::default();
        let counters = [
            ("slicemeter_containers_answers_total", "Answers of Docker and Podman.", counts.answers),
            (
                "slicemeter_containers_failures_total",
                "Questions to Docker and Podman that failed.",
                counts.failures,
            ),
            (
                "slicemeter_containers_dropped_total",
                "Containers that were forgotten for want of room.",
                counts.standing.dropped,
            ),
        ];
        for (name, help, count) in counters {
            text.family(name, "counter", help);
            text.sample(&[("node", node)], count);
        }
        text.family(
            "slicemeter_containers",
            "gauge",
            "Containers outside Kubernetes by what is known of them.",
        );
        let Standing { known, awaited, nobodys, .. } = counts.standing;
        let states =
            [("named", known.saturating_sub(awaited + nobodys)), ("awaited", awaited), ("unknown", nobodys)];
        for (state, count) in states {
            text.sample(&[("node", node), ("state", state)], count);
        }
        text.finish()
    }
}
