//! The thread that asks Slurm: a question a period, a longer pause after each failure, whole answers onto the board.
//!
//! Asking costs `slurmctld` one job listing a period and node: `squeue` is told to list this node's jobs only. The pause
//! is spread over the nodes by their names, so that they don't all ask at once.

use super::accounting::parse_runs;
use super::devices::Devices;
use super::files::read_job_files;
use super::holds::{Book, Policy};
use super::job::{Job, Phase, parse_jobs};
use super::node::out_of_use;
use crate::allocation::{Allocation, Allocations, Board};
use crate::causes::chain;
use crate::command::{Call, CommandError};
use crate::metrics::text::Text;
use schema::owner::{Owner, OwnerKind, key};
use schema::share::Share;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// After failures the pause doubles up to so many periods.
const PAUSE_PERIODS_MAX: u32 = 16;

/// What one answer may weigh: 30,000 jobs at 4 KB each.
const ANSWER_BYTES_MAX: u64 = 128 << 20;

/// How to ask.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node's name in Slurm.
    pub node: String,
    /// Folder with `squeue`, `scontrol` and `slurmd`; from `PATH` where there is none.
    pub commands: Option<PathBuf>,
    /// `slurm.conf`, where it isn't where the commands look.
    pub conf: Option<PathBuf>,
    /// Time between questions.
    pub period: Duration,
    /// When a command is given up.
    pub deadline: Duration,
    /// The node's GPUs in Slurm's order, where the site says; else `slurmd -G` is asked.
    pub gpus: Option<Devices>,
    /// Folder of the prolog's job files, for when Slurm can't be asked.
    pub job_files: Option<PathBuf>,
    /// What suspended jobs hold.
    pub policy: Policy,
    /// Since when nobody asked before, Unix milliseconds, where that is known: accounting is asked about that time.
    pub unasked_since_ms: Option<i64>,
}

/// How asking went.
#[derive(Debug, Default)]
pub struct WitnessHealth {
    /// Answers so far.
    pub answers: AtomicU64,
    /// Questions that failed so far.
    pub failures: AtomicU64,
    /// Jobs whose devices Slurm didn't say and for which too few were free, so far.
    pub unplaced: AtomicU64,
    /// Questions to Slurm's accounting that failed so far.
    pub accounting_failures: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl WitnessHealth {
    /// Why the last question failed; `None` where it didn't.
    pub fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its metrics: `slicemeter_slurm_*`.
    pub fn render(&self, node: &str) -> String {
        let mut text = Text::default();
        let families = [
            ("slicemeter_slurm_answers_total", "Answers of Slurm.", &self.answers),
            ("slicemeter_slurm_failures_total", "Questions to Slurm that failed.", &self.failures),
            ("slicemeter_slurm_unplaced_jobs_total", "Jobs whose devices Slurm didn't say.", &self.unplaced),
            (
                "slicemeter_slurm_accounting_failures_total",
                "Questions to Slurm's accounting that failed: what ran while nobody asked isn't known.",
                &self.accounting_failures,
            ),
        ];
        for (name, help, count) in families {
            text.family(name, "counter", help);
            text.sample(&[("node", node)], count.load(Ordering::Relaxed));
        }
        text.finish()
    }

    fn failed(&self, error: Option<String>) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// The thread; it ends when this is dropped.
pub struct Witness {
    /// A word asks now; hanging up ends the thread.
    now: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    health: Arc<WitnessHealth>,
}

impl Witness {
    /// Starts asking, and publishing on `board`. `now_ms` is the present in Unix milliseconds.
    pub fn start(settings: Settings, board: Board, now_ms: impl Fn() -> i64 + Send + 'static) -> Self {
        let (now, asked) = mpsc::channel();
        let health = Arc::new(WitnessHealth::default());
        let of_thread = health.clone();
        let thread = std::thread::Builder::new()
            .name("slurm".into())
            .spawn(move || {
                let asked_ms = settings.unasked_since_ms;
                let book = Book::default();
                Asking { settings, board, health: of_thread, book, devices: None, asked_ms }
                    .run(&now_ms, &asked)
            })
            .expect("a thread can be started while the collector starts");
        Self { now: Some(now), thread: Some(thread), health }
    }

    /// Has it ask now rather than at the next period.
    pub fn ask_now(&self) {
        if let Some(now) = &self.now {
            // The thread ends only with this, or with a panic that was printed.
            let _ = now.send(());
        }
    }

    /// How asking goes.
    pub fn health(&self) -> &Arc<WitnessHealth> {
        &self.health
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        drop(self.now.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed already; nothing is left to undo.
            let _ = thread.join();
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("squeue printed no list of jobs: it needs Slurm 21.08 or newer with its JSON serializer")]
    Json(#[source] serde_json::Error),
}

struct Asking {
    settings: Settings,
    board: Board,
    health: Arc<WitnessHealth>,
    book: Book,
    devices: Option<Devices>,
    /// When Slurm last answered, here or to an earlier collector, Unix milliseconds.
    asked_ms: Option<i64>,
}

/// Slurm's controller remembers a run that ended for 300 s unless it is told otherwise (`MinJobAge`); up to here, what
/// `squeue` lists is all that ran.
const REMEMBERED_MS: i64 = 240_000;

impl Asking {
    fn run(mut self, now_ms: &dyn Fn() -> i64, asked: &mpsc::Receiver<()>) {
        let mut pause_periods = 1;
        loop {
            match self.ask(now_ms()) {
                Ok(()) => {
                    pause_periods = 1;
                    self.health.answers.fetch_add(1, Ordering::Relaxed);
                    if self.health.last_error().is_some() {
                        tracing::info!("slurm answers again");
                    }
                    self.health.failed(None);
                }
                Err(error) => {
                    let said = chain(&error);
                    if self.health.last_error().as_ref() != Some(&said) {
                        tracing::warn!(
                            error = said,
                            "slurm can't be asked; held time rests on processes alone"
                        );
                    }
                    self.health.failed(Some(said));
                    // Whoever sees the count finds the reason.
                    self.health.failures.fetch_add(1, Ordering::Release);
                    self.fall_back(now_ms());
                    pause_periods = (pause_periods * 2).min(PAUSE_PERIODS_MAX);
                }
            }
            match asked.recv_timeout(self.pause(pause_periods)) {
                Err(RecvTimeoutError::Timeout) | Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The period, up to a tenth longer by the node's name.
    fn pause(&self, periods: u32) -> Duration {
        let spread = self.settings.node.bytes().fold(0u32, |sum, byte| (sum * 31 + u32::from(byte)) % 100);
        self.settings.period * periods + self.settings.period * spread / 1000
    }

    fn ask(&mut self, asked_ms: i64) -> Result<(), AskError> {
        if self.devices.is_none() {
            self.devices = Some(self.ask_devices());
        }
        let list = format!("--nodelist={}", self.settings.node);
        let (json, _) = self.call("squeue", &["--json", "--states=all", &list])?;
        let mut jobs = parse_jobs(&json).map_err(AskError::Json)?;
        if let Some(since_ms) = self.asked_ms.filter(|at| asked_ms - at > REMEMBERED_MS) {
            let over = self.ask_accounting(since_ms);
            let is_told = |run: &Job| jobs.iter().any(|job| (job.id, job.submit_s) == (run.id, run.submit_s));
            let untold: Vec<Job> =
                over.into_iter().filter(|run| run.phase == Phase::Ended && !is_told(run)).collect();
            jobs.extend(untold);
        }
        self.asked_ms = Some(asked_ms);
        let devices = self.devices.get_or_insert_default();
        let mut said = self.book.take(asked_ms, &jobs, &self.settings.node, devices, self.settings.policy);
        self.health.unplaced.store(self.book.unplaced, Ordering::Relaxed);
        // The node's state is an extra: without it, holds are what they are.
        if let Ok((line, _)) = self.call("scontrol", &["show", "node", &self.settings.node, "-o"]) {
            said.out_of_use = out_of_use(&String::from_utf8_lossy(&line));
        }
        self.board.publish(said);
        Ok(())
    }

    /// Runs since then. Where accounting can't be asked, a gap that nobody else covers stays unobserved.
    fn ask_accounting(&self, since_ms: i64) -> Vec<Job> {
        let node = format!("--nodelist={}", self.settings.node);
        let since = format!("--starttime={}", utc(since_ms));
        let arguments: Vec<&str> =
            super::accounting::ARGUMENTS.into_iter().chain([&*node, &*since]).collect();
        match self.call("sacct", &arguments) {
            Ok((answer, _)) => {
                let (runs, refused) = parse_runs(&String::from_utf8_lossy(&answer));
                tracing::info!(
                    runs = runs.len(),
                    refused,
                    "slurm's accounting tells what ran while nobody asked"
                );
                runs
            }
            Err(error) => {
                self.health.accounting_failures.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    error = chain(&error),
                    "slurm's accounting can't be asked; what ran and ended while nobody asked isn't known"
                );
                Vec::new()
            }
        }
    }

    /// The order of the GPUs: as the site says, else as `slurmd -G` prints it, else by minor number.
    fn ask_devices(&self) -> Devices {
        if let Some(devices) = &self.settings.gpus {
            return devices.clone();
        }
        match self.call("slurmd", &["-G", "-N", &self.settings.node]) {
            Ok((out, err)) => {
                let devices =
                    Devices::from_slurmd(&(String::from_utf8_lossy(&out) + String::from_utf8_lossy(&err)));
                if devices.is_empty() {
                    tracing::warn!(
                        "slurmd -G names no GPU; its index is taken for the number in /dev/nvidiaN"
                    );
                }
                devices
            }
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    "slurmd -G can't be asked; its index is taken for the number in /dev/nvidiaN"
                );
                Devices::default()
            }
        }
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
        // Times without a zone are local to whoever asks: here that is UTC. Accounting's are asked for as Unix seconds.
        let times = if program == "sacct" { "%s" } else { "standard" };
        let program = self
            .settings
            .commands
            .as_ref()
            .map_or_else(|| program.into(), |folder| folder.join(program).into_os_string());
        let mut environment: Vec<(OsString, OsString)> =
            vec![("TZ".into(), "UTC".into()), ("SLURM_TIME_FORMAT".into(), times.into())];
        environment.extend(self.settings.conf.iter().map(|conf| ("SLURM_CONF".into(), conf.into())));
        let arguments = arguments.iter().map(OsString::from).collect();
        Call {
            program,
            arguments,
            input: Vec::new(),
            environment,
            deadline: self.settings.deadline,
            bytes_max: ANSWER_BYTES_MAX,
        }
        .run()
    }

    /// Where Slurm never answered, the prolog's files stand in: a job that has a file holds the device since then.
    fn fall_back(&self, now_ms: i64) {
        let Some(folder) = &self.settings.job_files else { return };
        if self.health.answers.load(Ordering::Relaxed) > 0 {
            return;
        }
        match read_job_files(folder) {
            Ok(files) => self.board.publish(from_files(&files, now_ms)),
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "the prolog's job files can't be read")
            }
        }
    }
}

/// An instant as Slurm's commands take it, `2026-10-01T08:00:00`, in the time zone that they are given: UTC.
fn utc(at_ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    at.format("%Y-%m-%dT%H:%M:%S").to_string()
}

/// Holds as the prolog's files tell them: several jobs on one device share it equally.
fn from_files(files: &[super::files::JobFile], now_ms: i64) -> Allocations {
    let mut said = Allocations { source: "slurm prolog", known_until_ms: now_ms, ..Allocations::default() };
    for file in files {
        let sharers = files.iter().filter(|other| other.target == file.target).count();
        let uid = file.uid.map(|uid| (key::UID.to_owned(), uid.to_string()));
        let attributes = [(key::SLURM_JOB.to_owned(), file.job.to_string())].into_iter().chain(uid).collect();
        let evidence = format!("prolog file of job {}", file.job);
        let owner = Arc::new(Owner { kind: OwnerKind::Slurm, attributes, evidence });
        said.owners.insert((OwnerKind::Slurm, file.job.to_string()), owner.clone());
        let share = Share::new(1, u32::try_from(sharers).unwrap_or(u32::MAX));
        said.held.push(Allocation {
            target: file.target.clone(),
            owner,
            share,
            from_ms: file.since_ms,
            to_ms: None,
        });
    }
    said
}

#[cfg(test)]
mod tests;
