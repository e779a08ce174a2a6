//! The parent's half: starts the engine process, starts it again when it dies, stops it.
//!
//! One thread owns the child for as long as the supervisor lives. That is not only simple: the
//! kernel sends the parent-death signal when the *thread* that spawned a process ends, and a thread
//! of an async runtime may end at any time.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::child::{Options, Report};
use crate::endpoint::Endpoint;
use crate::install::{self, Missing};
use crate::new_secret;

/// Opening 18,000 partitions takes 15 s; ten times that and more is a hang.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// The child gives running queries 10 s; after this it is killed. What was acknowledged is on disk.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// The pause before the first restart; doubled up to [`BACKOFF_MAX`].
const BACKOFF_MIN: Duration = Duration::from_millis(100);
/// The longest pause between restarts.
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// A child that lived this long had started well: the next pause is the shortest again.
const HEALTHY: Duration = Duration::from_secs(60);

/// What to supervise.
#[derive(Debug, Clone)]
pub struct SupervisorConfig {
    /// The program whose `arguments` lead to [`crate::child::run_from_stdin`]; `serve` names itself.
    pub program: PathBuf,
    /// The arguments of `program`.
    pub arguments: Vec<String>,
    /// libchdb.so; looked for in the known places if none.
    pub library: Option<PathBuf>,
    /// Holds the databases; created if missing.
    pub data_dir: PathBuf,
    /// The port on 127.0.0.1; 0 takes a free one at the first start and keeps it.
    pub port: u16,
    /// The engine's cap on memory, in bytes. It keeps about 200 MB when idle.
    pub max_server_memory_bytes: u64,
    /// Queries that run at once; further ones wait.
    pub concurrency: usize,
    /// An operator's ClickHouse configuration, in XML, merged under ours.
    pub config_file: Option<PathBuf>,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// No library; the text says which command installs it.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The child said why.
    #[error("the embedded ClickHouse did not start: {0}")]
    Failed(String),
    /// The program could not be run, or ended without a word.
    #[error("could not run the engine process {program}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The child said nothing.
    #[error("the embedded ClickHouse did not start within {} s", START_TIMEOUT.as_secs())]
    Timeout,
}

/// A running engine. Dropped, it stops the engine without waiting for it.
pub struct Supervisor {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    stopping: Condvar,
    /// Restarts so far.
    restarts: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    stopping: bool,
    /// The write end of the child's standard input: closed, it asks the child to stop.
    input: Option<ChildStdin>,
    child: Option<Child>,
    endpoint: Option<Endpoint>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the child to stop, and the thread not to start another.
    fn stop(&self) {
        let mut state = self.lock();
        state.stopping = true;
        drop(state.input.take());
        self.stopping.notify_all();
    }

    fn kill(&self) {
        if let Some(child) = &mut self.lock().child {
            // One that has ended already needs no kill.
            let _ = child.kill();
        }
    }
}

impl Supervisor {
    /// Starts the engine and returns once it answers.
    pub async fn start(config: SupervisorConfig) -> Result<Self, SupervisorError> {
        let library = install::find(config.library.as_deref())?;
        let options = Options {
            library: Some(library),
            data_dir: config.data_dir,
            port: config.port,
            secret: new_secret(),
            max_server_memory_bytes: config.max_server_memory_bytes,
            concurrency: config.concurrency,
            config_file: config.config_file,
            parent_pid: Some(std::process::id()),
        };
        let program = config.program.clone();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            stopping: Condvar::new(),
            restarts: watch::Sender::new(0),
        });
        let (sender, receiver) = oneshot::channel();
        let runner =
            Runner { program: config.program, arguments: config.arguments, options, shared: shared.clone() };
        let thread = std::thread::Builder::new()
            .name("engine-supervisor".into())
            .spawn(move || runner.run(sender))
            .map_err(|source| SupervisorError::Spawn { program, source })?;
        let supervisor = Supervisor { shared, thread: Some(thread) };
        match tokio::time::timeout(START_TIMEOUT, receiver).await {
            Ok(Ok(Ok(()))) => Ok(supervisor),
            Ok(Ok(Err(error))) => Err(error),
            Ok(Err(_)) => Err(SupervisorError::Failed("its supervising thread ended".into())),
            Err(_) => {
                supervisor.shared.kill();
                Err(SupervisorError::Timeout)
            }
        }
    }

    /// Where the engine listens. URL and secret stay the same over restarts, the process id doesn't.
    pub fn endpoint(&self) -> Endpoint {
        self.shared.lock().endpoint.clone().expect("set before `start` returns")
    }

    /// How often the engine died and was started again.
    pub fn restarts(&self) -> u64 {
        *self.shared.restarts.borrow()
    }

    /// Returns once the engine has been started again `count` times since its first start, and answers.
    pub async fn restarted(&self, count: u64) {
        let mut restarts = self.shared.restarts.subscribe();
        // The sender lives as long as `self`.
        let _ = restarts.wait_for(|restarts| *restarts >= count).await;
    }

    /// Stops the engine: running queries get some seconds, then it is killed.
    pub async fn stop(mut self) {
        self.shared.stop();
        let Some(thread) = self.thread.take() else { return };
        let mut joining = tokio::task::spawn_blocking(move || thread.join().is_ok());
        if tokio::time::timeout(STOP_TIMEOUT, &mut joining).await.is_err() {
            tracing::warn!("the embedded ClickHouse did not stop in time and is killed");
            self.shared.kill();
            // Its result says only that the thread ended.
            let _ = joining.await;
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// The supervising thread.
struct Runner {
    program: PathBuf,
    arguments: Vec<String>,
    options: Options,
    shared: Arc<Shared>,
}

impl Runner {
    fn run(mut self, started: oneshot::Sender<Result<(), SupervisorError>>) {
        let mut started = Some(started);
        let mut backoff = BACKOFF_MIN;
        loop {
            let begun = Instant::now();
            let outcome = self.launch();
            match (outcome, started.take()) {
                (Ok(output), first) => {
                    match first {
                        // A starter that gave up has dropped the supervisor, which stops the child.
                        Some(first) => drop(first.send(Ok(()))),
                        None => self.shared.restarts.send_modify(|restarts| *restarts += 1),
                    }
                    wait_for_end(output);
                }
                (Err(error), Some(first)) => {
                    self.reap();
                    // As above.
                    let _ = first.send(Err(error));
                    return;
                }
                (Err(error), None) => tracing::error!(
                    error = crate::child::describe(&error),
                    "the embedded ClickHouse did not start again"
                ),
            }
            let status = self.reap();
            if self.shared.lock().stopping {
                self.forget_endpoint();
                return;
            }
            backoff = if begun.elapsed() >= HEALTHY { BACKOFF_MIN } else { backoff };
            tracing::error!(
                ?status,
                pause_ms = backoff.as_millis(),
                "the embedded ClickHouse ended and is started again"
            );
            let guard = self.shared.lock();
            let (guard, _) = self
                .shared
                .stopping
                .wait_timeout_while(guard, backoff, |state| !state.stopping)
                .unwrap_or_else(PoisonError::into_inner);
            if guard.stopping {
                drop(guard);
                self.forget_endpoint();
                return;
            }
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// Spawns a child and waits for its report; returns its standard output.
    fn launch(&mut self) -> Result<BufReader<std::process::ChildStdout>, SupervisorError> {
        let failed = |source| SupervisorError::Spawn { program: self.program.clone(), source };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let pid = child.id();
        let line = serde_json::to_string(&self.options).expect("plain strings and numbers");
        {
            let mut state = self.shared.lock();
            state.child = Some(child);
            if state.stopping {
                return Err(SupervisorError::Failed("it was stopped while it started".into()));
            }
            writeln!(input, "{line}").map_err(failed)?;
            state.input = Some(input);
        }
        let mut answer = String::new();
        output.read_line(&mut answer).map_err(failed)?;
        match serde_json::from_str(&answer) {
            Ok(Report::Listening(address)) => {
                self.options.port = address.port();
                let endpoint = Endpoint::new(address.port(), self.options.secret.clone(), pid);
                self.shared.lock().endpoint = Some(endpoint);
                Ok(output)
            }
            Ok(Report::Failed(reason)) => Err(SupervisorError::Failed(reason)),
            Err(_) => Err(SupervisorError::Failed(format!(
                "it ended without a report (its output began with {answer:?})"
            ))),
        }
    }

    /// Takes the child's exit status; a child that still runs has failed to start and is killed.
    fn reap(&self) -> Option<std::process::ExitStatus> {
        let (child, input) = {
            let mut state = self.shared.lock();
            (state.child.take(), state.input.take())
        };
        drop(input);
        let mut child = child?;
        if matches!(child.try_wait(), Ok(None)) {
            // Its standard output is closed: it is on its way out, or stuck.
            let _ = child.kill();
        }
        child.wait().ok()
    }

    /// A killed child leaves `engine.json` behind.
    fn forget_endpoint(&self) {
        if let Some(endpoint) = &self.shared.lock().endpoint {
            endpoint.remove(&self.options.data_dir);
        }
    }
}

/// Blocks until the child's end closes its standard output.
fn wait_for_end(mut output: BufReader<std::process::ChildStdout>) {
    // Whatever it prints after its report is of no use; an error is an end, too.
    let _ = std::io::copy(&mut output.by_ref(), &mut std::io::sink());
}
