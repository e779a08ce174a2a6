//! The thread that reads the exporter's page. A page that can't be had leaves nothing behind: the use of instances is
//! unknown then, not what it last was.

use super::page::parse;
use super::{ByInstance, Evidence};
use crate::metrics::text::Text;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A page of a node with 16 devices under MIG is far below it.
const PAGE_BYTES_MAX: u64 = 16 << 20;

/// How to ask.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The exporter's page.
    pub url: String,
    /// Time between looks.
    pub period: Duration,
    /// When one is given up.
    pub deadline: Duration,
}

#[derive(Debug, Default)]
struct Health {
    pages: AtomicU64,
    failures: AtomicU64,
    last_error: Mutex<Option<String>>,
}

/// The thread; it ends soon after this is dropped.
pub struct Witness {
    evidence: Evidence,
    health: Arc<Health>,
    _running: mpsc::Sender<()>,
}

impl Witness {
    /// Starts reading.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let (evidence, health) = (Evidence::default(), Arc::new(Health::default()));
        let (running, ended) = mpsc::channel();
        let (board, kept) = (evidence.clone(), health.clone());
        std::thread::Builder::new().name("dcgm".into()).spawn(move || {
            let config = ureq::Agent::config_builder()
                .proxy(None)
                .max_redirects(0)
                .user_agent("slicemeter-collector")
                .timeout_global(Some(settings.deadline));
            let agent = config.build().new_agent();
            loop {
                board.publish(look(&agent, &settings.url, &kept));
                if ended.recv_timeout(settings.period) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        })?;
        Ok(Self { evidence, health, _running: running })
    }

    /// Where its word is found.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Why the last look failed; `None` where it didn't.
    pub fn last_error(&self) -> Option<String> {
        self.health.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its metrics: `slicemeter_dcgm_*`.
    pub fn render(&self, node: &str) -> String {
        let mut text = Text::default();
        let families = [
            ("slicemeter_dcgm_pages_total", "Pages that the DCGM exporter gave.", &self.health.pages),
            ("slicemeter_dcgm_failures_total", "Pages that it didn't give.", &self.health.failures),
        ];
        for (name, help, count) in families {
            text.family(name, "counter", help);
            text.sample(&[("node", node)], count.load(Ordering::Relaxed));
        }
        text.finish()
    }
}

fn look(agent: &ureq::Agent, url: &str, health: &Health) -> ByInstance {
    let page = agent
        .get(url)
        .call()
        .and_then(|mut answer| answer.body_mut().with_config().limit(PAGE_BYTES_MAX).read_to_string());
    let (count, error, found) = match page {
        Ok(page) => (&health.pages, None, parse(&page)),
        Err(error) => (&health.failures, Some(format!("{url}: {error}")), ByInstance::new()),
    };
    count.fetch_add(1, Ordering::Relaxed);
    *health.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    found
}
