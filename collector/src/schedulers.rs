//! The schedulers of this node that are asked: their threads, their boards, and what of the agent rests on them.

use crate::allocation::Board;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::held::Held;
use crate::kubernetes;
use crate::owner::Procfs;
use crate::reading::NodeReading;
use crate::slurm::{self, JobClaims};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a window waits for Kubernetes' word, milliseconds: a kubelet that takes half a minute to answer is asked every
/// ten seconds beside.
const KUBERNETES_WAIT_MS: i64 = 90_000;

/// How far a scheduler's answer stays behind its question.
const WORD_LAG: Duration = Duration::from_millis(1_100);

/// Pause between looks at the boards while the collector ends.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Running witnesses; they end when this is dropped.
#[derive(Default)]
pub struct Schedulers {
    boards: Vec<Board>,
    wait_ms: i64,
    slurm: Option<(slurm::Witness, Board)>,
    kubernetes: Option<Kubernetes>,
}

struct Kubernetes {
    witness: kubernetes::Witness,
    wants_api: bool,
    is_demanded: bool,
    _running: kubernetes::Running,
}

impl Schedulers {
    /// Starts asking what the configuration says should be asked.
    ///
    /// # Errors
    /// Kubernetes' threads can't be started.
    pub fn start(config: &Config) -> Result<Self, kubernetes::StartError> {
        let mut schedulers = Self::default();
        let env = |name: &str| std::env::var(name).ok();
        if config.kubernetes.is_wanted(env) {
            let witness = kubernetes::Witness::default();
            let api_url = config.kubernetes.api_url(env);
            let wants_api = api_url.is_some();
            let is_demanded = config.kubernetes.enabled == kubernetes::Enabled::On;
            let clock: kubernetes::Clock = Arc::new(|| SystemClock.wall_ms());
            let named = config.kubernetes.node_name.clone().or_else(|| env("NODE_NAME"));
            let node = named.unwrap_or_else(|| config.node_name());
            let running = kubernetes::start(config.kubernetes.clone(), &node, api_url, &witness, &clock)?;
            schedulers.listen_to(witness.board.clone(), KUBERNETES_WAIT_MS);
            schedulers.kubernetes = Some(Kubernetes { witness, wants_api, is_demanded, _running: running });
        }
        if let Some(slurm) = &config.slurm {
            let board = Board::default();
            let settings = slurm.settings(config.node_name());
            let witness = slurm::Witness::start(settings, board.clone(), || SystemClock.wall_ms());
            schedulers.listen_to(board.clone(), slurm.wait_ms());
            schedulers.slurm = Some((witness, board));
        }
        Ok(schedulers)
    }

    fn listen_to(&mut self, board: Board, wait_ms: i64) {
        self.boards.push(board);
        self.wait_ms = self.wait_ms.max(wait_ms);
    }

    /// Where closed slices wait for the schedulers' word.
    pub fn held(&self) -> Held {
        Held::new(self.boards.clone(), self.wait_ms)
    }

    /// Waits, no longer than `patience`, until every scheduler's word reaches to `until_ms`: what is sent at the end of a
    /// run can't be changed by the next.
    pub fn wait_for_word(&self, until_ms: i64, patience: Duration) {
        let began = Instant::now();
        let mut asked = false;
        while self.boards.iter().any(|board| board.current().known_until_ms < until_ms)
            && began.elapsed() < patience
        {
            // An answer covers the time up to a second before its question.
            if !asked && began.elapsed() > WORD_LAG {
                asked = true;
                self.slurm.iter().for_each(|(witness, _)| witness.ask_now());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Owners from `/proc`, with the claims that a scheduler can check.
    pub fn owners(&self, procfs: Procfs, config: &Config) -> JobClaims<Procfs> {
        let board = self.slurm.as_ref().map(|(_, board)| board.clone());
        JobClaims::new(procfs, config.owner.procfs.clone(), board)
    }

    /// Tells the witnesses what devices there are: shares of memory need their size.
    pub fn observe(&self, reading: &NodeReading) {
        let Some(kubernetes) = &self.kubernetes else { return };
        let known = reading.devices.iter().map(|device| kubernetes::devices::KnownDevice {
            uuid: device.identity.uuid.clone(),
            index: device.identity.index,
            minor: device.identity.minor,
            memory_mib: device.identity.memory_total_bytes.and_then(|bytes| u32::try_from(bytes >> 20).ok()),
        });
        kubernetes.witness.devices.set(known.collect());
    }

    /// What of the schedulers' word is missing, a line each.
    pub fn not_ready(&self, now_ms: i64) -> Vec<String> {
        let mut missing = Vec::new();
        // Where Kubernetes was merely found, lacking its word is shown by a metric and isn't a fault.
        if let Some(kubernetes) = self.kubernetes.as_ref().filter(|own| own.is_demanded) {
            let counts = kubernetes.witness.health.counts();
            missing.extend(kubernetes::degradations(&counts, kubernetes.wants_api, now_ms));
        }
        if let Some((witness, _)) = &self.slurm
            && let Some(error) = witness.health().last_error()
        {
            missing.push(format!("Slurm: held time comes from processes only: {error}"));
        }
        missing
    }

    /// Their metrics, to be appended to the page.
    pub fn render(&self, node: &str, now_ms: i64) -> String {
        let mut page = String::new();
        if let Some(kubernetes) = &self.kubernetes {
            page.push_str(&kubernetes::metrics::render(
                node,
                &kubernetes.witness.health.counts(),
                kubernetes.wants_api,
                now_ms,
            ));
        }
        if let Some((witness, _)) = &self.slurm {
            page.push_str(&witness.health().render(node));
        }
        page
    }
}
