//! The thread that asks control daemons. A daemon that doesn't answer leaves no clients behind: their shares are equal
//! then, and the readiness page says why.

use super::answers::{devices, percent, pids};
use super::{Client, Clients};
use crate::command::{Call, CommandError};
use crate::metrics::text::Text;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What one answer may weigh.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// How to ask.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `nvidia-cuda-mps-control`, or its path.
    pub control: PathBuf,
    /// One pipe directory for each daemon.
    pub pipe_directories: Vec<PathBuf>,
    /// Time between questions.
    pub period: Duration,
    /// When a command is given up.
    pub deadline: Duration,
}

#[derive(Debug, Default)]
struct Health {
    answers: AtomicU64,
    failures: AtomicU64,
    last_error: Mutex<Option<String>>,
}

/// The thread; it ends soon after this is dropped.
pub struct Witness {
    clients: Clients,
    health: Arc<Health>,
    _running: mpsc::Sender<()>,
}

impl Witness {
    /// Starts asking.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        let clients = Clients::default();
        let health = Arc::new(Health::default());
        let (running, ended) = mpsc::channel();
        let (board, kept) = (clients.clone(), health.clone());
        std::thread::Builder::new().name("mps".into()).spawn(move || {
            loop {
                board.publish(ask_all(&settings, &kept));
                if ended.recv_timeout(settings.period) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        })?;
        Ok(Self { clients, health, _running: running })
    }

    /// Where its word is found.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// Why the last question failed; `None` where none did.
    pub fn last_error(&self) -> Option<String> {
        self.health.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its metrics: `slicemeter_mps_*`.
    pub fn render(&self, node: &str) -> String {
        let mut text = Text::default();
        let families = [
            (
                "slicemeter_mps_answers_total",
                "Rounds in which a control daemon answered.",
                &self.health.answers,
            ),
            ("slicemeter_mps_failures_total", "Rounds in which one didn't.", &self.health.failures),
        ];
        for (name, help, count) in families {
            text.family(name, "counter", help);
            text.sample(&[("node", node)], count.load(Ordering::Relaxed));
        }
        text.finish()
    }
}

fn ask_all(settings: &Settings, health: &Health) -> Vec<Client> {
    let mut all = Vec::new();
    let mut failed = None;
    for directory in &settings.pipe_directories {
        match of_daemon(settings, directory) {
            Ok(clients) => {
                health.answers.fetch_add(1, Ordering::Relaxed);
                all.extend(clients);
            }
            Err(error) => {
                health.failures.fetch_add(1, Ordering::Relaxed);
                failed = Some(format!("{}: {error}", directory.display()));
            }
        }
    }
    *health.last_error.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    all
}

fn of_daemon(settings: &Settings, directory: &Path) -> Result<Vec<Client>, CommandError> {
    let ask = |question: &str| ask(settings, directory, question);
    let mut clients = Vec::new();
    let servers = pids(&ask("get_server_list")?);
    // Older daemons don't know this question; what they lack is which device a client is on.
    let on_device = if servers.is_empty() { Vec::new() } else { devices(&ask("ps").unwrap_or_default()) };
    for server_pid in servers {
        let server_percent = percent(&ask(&format!("get_active_thread_percentage {server_pid}"))?);
        for pid in pids(&ask(&format!("get_client_list {server_pid}"))?) {
            let own: Vec<&String> =
                on_device.iter().filter(|(known, _)| *known == pid).map(|(_, device)| device).collect();
            let client =
                |device: Option<&String>| Client { pid, server_pid, device: device.cloned(), server_percent };
            if own.is_empty() {
                clients.push(client(None));
            }
            clients.extend(own.into_iter().map(|device| client(Some(device))));
        }
    }
    Ok(clients)
}

fn ask(settings: &Settings, directory: &Path, question: &str) -> Result<String, CommandError> {
    let call = Call {
        program: settings.control.clone().into(),
        arguments: Vec::new(),
        input: format!("{question}\n").into_bytes(),
        environment: vec![("CUDA_MPS_PIPE_DIRECTORY".into(), directory.into())],
        deadline: settings.deadline,
        bytes_max: ANSWER_BYTES_MAX,
    };
    let (printed, _) = call.run()?;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}
