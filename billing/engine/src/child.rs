//! The engine process: loads the library, opens the databases, serves HTTP until told to stop.
//!
//! It dies with its parent (an orphan would keep the directory locked), and it ends by `_exit`
//! after the engine has stopped: any other way out crashed now and then.

use std::convert::Infallible;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Layout;
use crate::connection::{Engine, StartError};
use crate::endpoint::Endpoint;
use crate::ffi::{self, Library, LoadError};
use crate::http::Front;
use crate::install::{self, Missing};

/// Time for running queries after the signal to stop; inserts that were acknowledged are on disk.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// How to run an engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// libchdb.so; looked for in the known places if none (see [`install::find`]).
    pub library: Option<PathBuf>,
    /// Holds the databases; created if missing. One engine at a time.
    pub data_dir: PathBuf,
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// What every request must carry as its password.
    pub secret: String,
    /// The engine's cap on memory, in bytes.
    pub max_server_memory_bytes: u64,
    /// Queries that run at once.
    pub concurrency: usize,
    /// An operator's ClickHouse configuration, in XML, merged under ours.
    pub config_file: Option<PathBuf>,
    /// The process to die with; `None` runs apart.
    pub parent_pid: Option<u32>,
}

/// The line a child prints on standard output once it serves, or once it knows that it won't.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Serves on this address.
    Listening(SocketAddr),
    /// Won't serve, and why.
    Failed(String),
}

/// Why an engine did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// No library.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// An unusable library.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine refused its directory or a setting.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Another engine runs on the directory.
    #[error(
        "{directory} is in use by the engine process {pid}: stop it (kill {pid}), or give this one another data directory; several `serve` share one `slicemeter engine`"
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// The process that holds it.
        pid: String,
    },
    /// The directory or its lock file can't be written.
    #[error("could not lock the data directory {directory}")]
    Lock {
        /// The data directory.
        directory: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The port is taken, or the process may not listen.
    #[error("could not listen on 127.0.0.1:{port}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The parent died before the child was up.
    #[error("the parent process {0} is gone")]
    Orphaned(u32),
    /// The operating system refused a thread, a signal handler or standard input.
    #[error("could not set the process up")]
    Process(#[source] std::io::Error),
    /// What the parent sent isn't a set of options.
    #[error("the options on standard input are not readable")]
    Options(#[source] serde_json::Error),
}

/// Runs an engine with options given as one line of JSON on standard input, as [`crate::supervisor`]
/// does: so the secret shows neither in the arguments nor in the environment. The end of standard
/// input stops it, besides the parent-death signal.
///
/// Prints one [`Report`] line on standard output. Returns only when it could not serve.
pub fn run_from_stdin() -> Result<Infallible, ChildError> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(ChildError::Process)?;
    let result =
        serde_json::from_str(&line).map_err(ChildError::Options).and_then(|options| serve(options, true));
    if let Err(error) = &result {
        report(&Report::Failed(describe(error)));
    }
    result
}

/// Runs an engine in this process, until SIGTERM or SIGINT. Prints its [`Report`] on standard output
/// and writes `engine.json` for clients on the same host. Returns only when it could not serve.
pub fn run(options: Options) -> Result<Infallible, ChildError> {
    let result = serve(options, false);
    if let Err(error) = &result {
        report(&Report::Failed(describe(error)));
    }
    result
}

fn serve(options: Options, stop_at_end_of_input: bool) -> Result<Infallible, ChildError> {
    if let Some(parent) = options.parent_pid {
        die_with(parent)?;
    }
    let library = Library::load(&install::find(options.library.as_deref())?)?;
    let layout = Layout::new(&options.data_dir);
    let lock = lock(&options, &layout)?;
    let engine = Arc::new(Engine::start(
        library,
        &layout,
        options.config_file.as_deref(),
        options.max_server_memory_bytes,
    )?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(options.concurrency.max(1) + 4)
        .enable_all()
        .build()
        .map_err(ChildError::Process)?;
    runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listening = |source| ChildError::Listen { port: options.port, source };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(ChildError::Process)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ChildError::Process)?;
        let input_ended = end_of_input(stop_at_end_of_input)?;
        let front = Front::new(engine.clone(), options.secret.clone(), options.concurrency.max(1));
        let endpoint = Endpoint::new(address.port(), options.secret.clone(), std::process::id());
        endpoint
            .write(&options.data_dir)
            .map_err(|source| ChildError::Lock { directory: options.data_dir.clone(), source })?;
        report(&Report::Listening(address));
        tracing::info!(%address, data_dir = %options.data_dir.display(), "the embedded ClickHouse serves");
        tokio::select! {
            never = front.serve(listener) => match never {},
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = input_ended => {}
        }
        endpoint.remove(&options.data_dir);
        Ok::<(), ChildError>(())
    })?;
    stop(&engine, lock)
}

/// Waits for running queries, stops the engine and leaves.
fn stop(engine: &Engine, lock: File) -> ! {
    let pause = Duration::from_millis(20);
    let attempts = STOP_GRACE.as_millis() / pause.as_millis();
    for _ in 0..attempts {
        // False while a query still holds a session.
        if engine.stop() {
            break;
        }
        std::thread::sleep(pause);
    }
    drop(lock);
    ffi::exit_now(0)
}

/// Asks the kernel for SIGTERM at the parent's death, and checks that it isn't too late for that.
fn die_with(parent: u32) -> Result<(), ChildError> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(|error| ChildError::Process(error.into()))?;
    let actual = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if actual == Some(parent) { Ok(()) } else { Err(ChildError::Orphaned(parent)) }
}

/// Takes the directory's lock for as long as the file is open, and leaves our process id in it.
fn lock(options: &Options, layout: &Layout) -> Result<File, ChildError> {
    let directory = options.data_dir.clone();
    let failed = |source| ChildError::Lock { directory: directory.clone(), source };
    // For the owner only: it holds what everybody used.
    DirBuilder::new().recursive(true).mode(0o700).create(&options.data_dir).map_err(failed)?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(layout.lock())
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut pid = String::new();
            file.read_to_string(&mut pid).map_err(failed)?;
            return Err(ChildError::InUse { directory, pid: pid.trim().to_owned() });
        }
        Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
    }
    file.set_len(0).map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(file)
}

/// Resolves when standard input ends, or never.
fn end_of_input(watch: bool) -> Result<impl Future<Output = ()>, ChildError> {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    if watch {
        // A thread, since a read of standard input can't be cancelled; it ends with the process.
        std::thread::Builder::new()
            .name("parent-watch".into())
            .spawn(move || {
                // Whether it ends or fails, the parent is gone.
                let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
                drop(sender);
            })
            .map_err(ChildError::Process)?;
        return Ok(wait(receiver, None));
    }
    Ok(wait(receiver, Some(sender)))
}

/// Waits until the sender is gone; `kept` is one that never goes.
async fn wait(receiver: tokio::sync::oneshot::Receiver<()>, kept: Option<tokio::sync::oneshot::Sender<()>>) {
    // Nothing is ever sent: the error is the sender's end.
    let _ = receiver.await;
    drop(kept);
}

/// One line on standard output; a parent that has gone needs none.
fn report(report: &Report) {
    let line = serde_json::to_string(report).expect("plain strings");
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// An error with its causes, in one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
