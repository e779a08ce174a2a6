//! What Docker and Podman say of containers outside Kubernetes: name, image and labels, which a process's cgroup lacks.
//!
//! A look-up that meets a container notes its id in the [`Register`]; a thread asks the daemons over their sockets and
//! publishes owners' records through the register's board, so that a window waits for them and a tick never does. Read
//! in this order: an answer's text, one question, the register of what was asked, the thread.
//!
//! Laws: a daemon of a user's is asked about that user's containers only, and its word counts for those only; labels are
//! whatever who started the container wrote, so a record's evidence says whose word it is; a daemon that hangs, lies or
//! is gone costs names, never samples.

mod ask;
mod health;
mod inspect;
mod lookup;
mod register;
mod sockets;
mod witness;

pub use health::Health;
pub use lookup::Noticed;
pub use register::{Asked, Register};
pub use witness::{StartError, Witness};

use std::path::PathBuf;
use std::time::Duration;

/// How to ask.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Sockets of the daemons that run as root.
    pub sockets: Vec<PathBuf>,
    /// Folder of users' runtime folders, where users' daemons are asked too.
    pub user_runtime: Option<PathBuf>,
    /// Labels to carry, by exact key.
    pub labels: Vec<String>,
    /// When a question is given up.
    pub deadline: Duration,
    /// How long a window waits for a container's record, milliseconds.
    pub wait_ms: i64,
    /// Whether a pod in a container's cgroup is told by that container: where nobody else here knows pods.
    pub aliases: bool,
}
