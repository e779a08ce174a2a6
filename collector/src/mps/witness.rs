//! The thread that asks control daemons. A daemon that doesn't answer leaves no clients behind: their shares are equal
//! then, and the readiness page says why.

use super::answers::{devices, percent, pids};
use super::{Client, Witness};
use crate::command::{Call, CommandError};
use crate::polled::{Polled, Round};
use std::path::{Path, PathBuf};
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

/// Starts asking.
///
/// # Errors
/// The thread can't be started.
pub fn start(settings: Settings) -> std::io::Result<Witness> {
    Polled::start("mps", settings.period, move || ask_all(&settings))
}

/// Its metrics: `slicemeter_mps_*`.
pub fn render(witness: &Witness, node: &str) -> String {
    let answers = ("slicemeter_mps_answers_total", "Rounds in which a control daemon answered.");
    witness.render(node, answers, ("slicemeter_mps_failures_total", "Rounds in which one didn't."))
}

fn ask_all(settings: &Settings) -> Round<Vec<Client>> {
    let mut round = Round::<Vec<Client>>::default();
    for directory in &settings.pipe_directories {
        match of_daemon(settings, directory) {
            Ok(clients) => {
                round.answers += 1;
                round.said.extend(clients);
            }
            Err(error) => {
                round.failures += 1;
                round.error = Some(format!("{}: {error}", directory.display()));
            }
        }
    }
    round
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
