//! The thread that reads the exporter's page. A page that can't be had leaves nothing behind: the use of instances is
//! unknown then, not what it last was.

use super::page::parse;
use super::{ByInstance, Witness};
use crate::polled::{Polled, Round};
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

/// Starts reading.
///
/// # Errors
/// The thread can't be started.
pub fn start(settings: Settings) -> std::io::Result<Witness> {
    let config = ureq::Agent::config_builder()
        .proxy(None)
        .max_redirects(0)
        .user_agent("slicemeter-collector")
        .timeout_global(Some(settings.deadline));
    let agent = config.build().new_agent();
    Polled::start("dcgm", settings.period, move || look(&agent, &settings.url))
}

/// Its metrics: `slicemeter_dcgm_*`.
pub fn render(witness: &Witness, node: &str) -> String {
    let pages = ("slicemeter_dcgm_pages_total", "Pages that the DCGM exporter gave.");
    witness.render(node, pages, ("slicemeter_dcgm_failures_total", "Pages that it didn't give."))
}

fn look(agent: &ureq::Agent, url: &str) -> Round<ByInstance> {
    let page = agent
        .get(url)
        .call()
        .and_then(|mut answer| answer.body_mut().with_config().limit(PAGE_BYTES_MAX).read_to_string());
    match page {
        Ok(page) => Round { said: parse(&page), answers: 1, ..Round::default() },
        Err(error) => Round { failures: 1, error: Some(format!("{url}: {error}")), ..Round::default() },
    }
}
