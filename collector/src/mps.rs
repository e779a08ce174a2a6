//! What MPS control daemons say of their clients: who they are where the driver lists only the server, and which part of
//! the device's threads each may use, which is the share that it holds.
//!
//! A [`Witness`] asks in a thread of its own; [`WithMps`] puts its word beside an owner look-up. The tick waits for neither.

mod answers;
mod lookup;
mod witness;

pub use lookup::WithMps;
pub use witness::{Settings, render, start};

use crate::latest::Latest;
use crate::polled::Polled;

/// A client that a control daemon knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Host PID.
    pub pid: u32,
    /// Its server's host PID.
    pub server_pid: u32,
    /// Beginning of the device's UUID; `None` where the daemon doesn't say.
    pub device: Option<String>,
    /// Active-thread percentage of the server, 1 to 100; `None` where the daemon doesn't say.
    pub server_percent: Option<u32>,
}

/// The latest word: all clients of all daemons.
pub type Clients = Latest<Vec<Client>>;

/// The thread that asks.
pub type Witness = Polled<Vec<Client>>;
