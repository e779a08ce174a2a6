//! Everybody on this node who is asked beside the driver: schedulers, whose boards say who holds what, runtimes of
//! containers and machines, who name them, MPS control daemons, who say which processes are their clients, and a DCGM
//! exporter. Their threads, and what of the agent rests on them.

use crate::absence::Before;
use crate::allocation::Board;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::containers::{self, Noticed};
use crate::dcgm::{self, WithDcgm};
use crate::held::Held;
use crate::kubernetes;
use crate::machines::{self, Machines};
use crate::mps::{self, WithMps};
use crate::owner::Procfs;
use crate::reading::{NodeReading, Source};
use crate::slurm::{self, JobClaims};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a window waits for Kubernetes' word, milliseconds: a kubelet that takes half a minute to answer is asked every
/// ten seconds beside.
const KUBERNETES_WAIT_MS: i64 = 90_000;

/// How long a window waits for the names of machines, milliseconds: some looks at libvirt's folder.
const MACHINES_WAIT_MS: i64 = 10_000;

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
    containers: Option<containers::Witness>,
    _machines: Option<Machines>,
    mps: Option<mps::Witness>,
    dcgm: Option<dcgm::Witness>,
}

/// The look-up of owners: `/proc`, containers noted on the way, claims that a scheduler can check, MPS clients.
pub type Owners = WithMps<JobClaims<Noticed<Procfs>>>;

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Kubernetes can't.
    #[error("[kubernetes] can't be asked; set enabled = \"off\" to go without")]
    Kubernetes(#[from] kubernetes::StartError),
    /// Runtimes of containers can't.
    #[error("[containers] can't be asked; leave the section out to go without")]
    Containers(#[from] containers::StartError),
    /// A thread can't be started.
    #[error("a thread for {asked} can't be started; raise the limit of threads")]
    Thread {
        /// What it was to ask.
        asked: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

struct Kubernetes {
    witness: kubernetes::Witness,
    wants_api: bool,
    is_demanded: bool,
    _running: kubernetes::Running,
}

impl Schedulers {
    /// Starts asking what the configuration says should be asked. `before` is what an earlier collector left, `boot_id` the
    /// kernel's, empty where it can't be read.
    ///
    /// # Errors
    /// A thread can't be started.
    pub fn start(config: &Config, before: &Before, boot_id: String) -> Result<Self, StartError> {
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
            let kept = kubernetes::kept::Place { directory: config.spool.directory.clone(), boot_id };
            let settings = kubernetes::KubernetesConfig { kept: Some(kept), ..config.kubernetes.clone() };
            let running = kubernetes::start(settings, &node, api_url, &witness, &clock)?;
            schedulers.listen_to(witness.board.clone(), KUBERNETES_WAIT_MS);
            schedulers.kubernetes = Some(Kubernetes { witness, wants_api, is_demanded, _running: running });
        }
        if let Some(slurm) = &config.slurm {
            let board = Board::default();
            let settings = slurm.settings(config.node_name(), before.until_ms.values().min().copied());
            let witness = slurm::Witness::start(settings, board.clone(), || SystemClock.wall_ms());
            schedulers.listen_to(board.clone(), slurm.wait_ms());
            schedulers.slurm = Some((witness, board));
        }
        let thread = |asked| move |source| StartError::Thread { asked, source };
        if let Some(mps) = &config.mps {
            schedulers.mps = Some(mps::start(mps.settings()).map_err(thread("[mps]"))?);
        }
        if let Some(dcgm) = &config.dcgm {
            schedulers.dcgm = Some(dcgm::start(dcgm.settings()).map_err(thread("[dcgm]"))?);
        }
        if let Some(containers) = &config.containers {
            let settings = containers.settings(schedulers.kubernetes.is_none());
            let witness = containers::Witness::start(settings, || SystemClock.wall_ms())?;
            schedulers.listen_to(witness.register().board().clone(), containers.wait_ms());
            schedulers.containers = Some(witness);
        }
        let folder = config.owner.libvirt_directory.clone();
        let machines = Machines::start(folder, machines::PERIOD, || SystemClock.wall_ms());
        let machines = machines.map_err(thread("the names of machines"))?;
        schedulers.listen_to(machines.board().clone(), MACHINES_WAIT_MS);
        schedulers._machines = Some(machines);
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

    /// Owners from `/proc`, with containers noted, the claims that a scheduler can check, and the clients that MPS daemons
    /// know.
    pub fn owners(&self, procfs: Procfs, config: &Config) -> Owners {
        let board = self.slurm.as_ref().map(|(_, board)| board.clone());
        let register = self.containers.as_ref().map(|witness| witness.register().clone());
        let aliases = self.kubernetes.is_none();
        let noticed = Noticed::new(procfs, register, aliases, Arc::new(|| SystemClock.wall_ms()));
        let claims = JobClaims::new(noticed, config.owner.procfs.clone(), board);
        let clients = self.mps.as_ref().map(|witness| witness.latest().clone());
        WithMps::new(claims, config.owner.procfs.clone(), clients)
    }

    /// Readings with the evidence of a DCGM exporter.
    pub fn source<S: Source>(&self, inner: S) -> WithDcgm<S> {
        WithDcgm::new(inner, self.dcgm.as_ref().map(|witness| witness.latest().clone()))
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
        if let Some(error) = self.mps.as_ref().and_then(mps::Witness::last_error) {
            missing.push(format!("MPS: clients are those that the driver lists, in equal parts: {error}"));
        }
        if let Some(error) = self.dcgm.as_ref().and_then(dcgm::Witness::last_error) {
            missing.push(format!("DCGM: the use of MIG instances before Hopper is unknown: {error}"));
        }
        if let Some(error) = self.containers.as_ref().and_then(|witness| witness.health().last_error()) {
            missing.push(format!(
                "containers: known by id alone: {error}; name in containers.sockets only daemons that run, and let the \
                 collector use their sockets"
            ));
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
        page.extend(self.mps.iter().map(|witness| mps::render(witness, node)));
        page.extend(self.dcgm.iter().map(|witness| dcgm::render(witness, node)));
        if let Some(witness) = &self.containers {
            page.push_str(&witness.health().render(node));
        }
        page
    }
}
