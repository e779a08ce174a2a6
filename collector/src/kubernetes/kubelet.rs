//! Asks the kubelet again and again and keeps its last word. A slow kubelet delays nobody: everyone reads the last word.

use super::cluster::Shared;
use super::health::{Health, Source};
use super::pod::PodFacts;
use super::podresources::{GpuNames, Kubelet, KubeletView, reason};
use super::watch::Backoff;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The kubelet's last word.
#[derive(Debug, Clone, Default)]
pub struct Word {
    /// What it said.
    pub view: KubeletView,
    /// When it was asked for its last list that came, Unix milliseconds; `None` before it ever did.
    pub listed_ms: Option<i64>,
}

/// The last word, shared.
#[derive(Debug, Clone, Default)]
pub struct Latest(Arc<Mutex<Arc<Word>>>);

impl Latest {
    /// The last word.
    pub fn get(&self) -> Arc<Word> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, word: Word) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(word);
    }
}

/// Longest pause after failures: a kubelet that restarts is back within seconds, one that limits us needs longer.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How often a poll looks whether a new pod waits to be asked for.
const LOOK: Duration = Duration::from_millis(500);

/// The questions asked singly between two lists; past it a list is cheaper.
const SINGLE_MAX: usize = 5;

/// Asks, and keeps the answers.
pub struct Poller {
    /// Whom to ask.
    pub kubelet: Kubelet,
    /// What to take for a GPU.
    pub names: GpuNames,
    /// Pause between two lists.
    pub pause: Duration,
    /// Where the answers go.
    pub latest: Latest,
    /// Pods that the API server tells of, and whom to wake.
    pub shared: Shared,
    /// Where success and failure are counted.
    pub health: Health,
    /// The wall clock, Unix milliseconds.
    pub now_ms: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Poller {
    /// Asks until the future is dropped.
    pub async fn run(mut self) {
        let mut backoff = Backoff::new(self.pause.min(Duration::from_secs(1)), PAUSE_MAX);
        let mut asked = Asked::default();
        loop {
            let pause = match self.list().await {
                Ok(()) => {
                    backoff.reset();
                    self.pause
                }
                Err(status) => {
                    self.health.failed(Source::Kubelet, reason(&status));
                    tracing::debug!(%status, "kubelet PodResources failed");
                    // Never sooner than without a failure where it says that we ask too often.
                    let least = if reason(&status) == "rate_limited" { self.pause } else { Duration::ZERO };
                    backoff.pause().max(least)
                }
            };
            let until = Instant::now() + pause;
            while Instant::now() < until {
                tokio::time::sleep(LOOK.min(until - Instant::now())).await;
                if asked.first_time(self.wanted()) && !self.ask_singly(&mut asked).await {
                    break;
                }
            }
        }
    }

    async fn list(&mut self) -> Result<(), tonic::Status> {
        let mut view = KubeletView { slots: self.latest.get().view.slots.clone(), ..KubeletView::default() };
        // What a slow kubelet answers was so when it was asked, or later.
        let asked_ms = (self.now_ms)();
        let list = self.kubelet.list().await?;
        view.set_pods(&list, &self.names);
        drop(list);
        // What it doesn't offer to say leaves the slots as they were known.
        match self.kubelet.allocatable().await {
            Ok(offered) => view.set_slots(&offered, &self.names),
            Err(status) => self.health.failed(Source::Kubelet, reason(&status)),
        }
        self.keep(view, Some(asked_ms));
        Ok(())
    }

    /// Keeps a view; `listed_ms` is when it was asked for, where it is a whole list.
    fn keep(&self, view: KubeletView, listed_ms: Option<i64>) {
        let now_ms = (self.now_ms)();
        let before = self.latest.get();
        let new: Vec<&String> = view.unknown_ids.difference(&before.view.unknown_ids).collect();
        if !new.is_empty() {
            tracing::warn!(ids = ?new, "device ids of no known form: these devices are metered by process only");
            self.health.update(|counts| counts.unknown_device_ids += new.len() as u64);
        }
        self.health.succeeded(Source::Kubelet, now_ms);
        self.latest.set(Word { view, listed_ms: listed_ms.or(before.listed_ms) });
        self.shared.wake();
    }

    /// Pods that hold GPUs by the API server's word and that the kubelet hasn't named yet.
    fn wanted(&self) -> BTreeSet<(String, String)> {
        let word = self.latest.get();
        let is_missing = |pod: &&PodFacts| {
            let is_listed =
                word.view.pods.iter().any(|own| own.namespace == pod.namespace && own.name == pod.name);
            pod.wants_gpus && pod.from_ms.is_some() && pod.to_ms.is_none() && !is_listed
        };
        self.shared.read(|cluster| {
            cluster
                .pods
                .values()
                .filter(is_missing)
                .map(|pod| (pod.namespace.clone(), pod.name.clone()))
                .collect()
        })
    }

    /// Asks for new pods alone, so that a pod that lives for seconds is seen; whether that was enough.
    async fn ask_singly(&mut self, asked: &mut Asked) -> bool {
        if asked.get_is_refused || asked.new.len() > SINGLE_MAX {
            return false;
        }
        for (namespace, name) in std::mem::take(&mut asked.new) {
            match self.kubelet.get(&namespace, &name).await {
                Ok(answer) => {
                    let mut view = self.latest.get().view.clone();
                    if let Some(pod) = &answer.pod_resources {
                        view.set_pod(pod, &self.names);
                        self.keep(view, None);
                    }
                }
                Err(status) => {
                    self.health.failed(Source::Kubelet, reason(&status));
                    asked.get_is_refused |= reason(&status) == "unimplemented";
                    return false;
                }
            }
        }
        true
    }
}

/// Which pods were asked for singly: each once, because one that the kubelet doesn't know yet would be asked for on and on.
#[derive(Debug, Default)]
struct Asked {
    known: BTreeSet<(String, String)>,
    new: Vec<(String, String)>,
    /// This kubelet doesn't offer the call.
    get_is_refused: bool,
}

impl Asked {
    /// Takes up what is wanted now; whether any of it is new.
    fn first_time(&mut self, wanted: BTreeSet<(String, String)>) -> bool {
        self.new = wanted.difference(&self.known).cloned().collect();
        self.known = wanted;
        !self.new.is_empty()
    }
}
