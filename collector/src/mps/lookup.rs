//! An owner look-up that also knows MPS clients. A client's own limit stands in its environment, where its user can only
//! lower what the server allows: what it gives up it doesn't hold.

use super::Clients;
use super::answers::percent;
use crate::attribution::MpsClient;
use crate::owner::{OwnerLookup, ProcessOwner, environ};
use std::collections::HashMap;
use std::path::PathBuf;

const LIMIT: &str = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

/// Owners of `inner`, with what control daemons say of clients; without daemons it says nothing.
pub struct WithMps<L> {
    inner: L,
    procfs: PathBuf,
    clients: Option<Clients>,
    /// Own limit by PID and start time: an environment is read once.
    limits: HashMap<u32, (u64, Option<u32>)>,
}

impl<L: OwnerLookup> WithMps<L> {
    /// Over `inner`, reading environments of clients below `procfs`.
    pub fn new(inner: L, procfs: PathBuf, clients: Option<Clients>) -> Self {
        Self { inner, procfs, clients, limits: HashMap::new() }
    }

    /// The look-up beneath.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    fn own_limit(&mut self, pid: u32, start_ticks: u64) -> Option<u32> {
        if let Some((_, limit)) = self.limits.get(&pid).filter(|(ticks, _)| *ticks == start_ticks) {
            return *limit;
        }
        let own = environ::read(&self.procfs, pid);
        let limit = own.and_then(|all| percent(environ::value(&all, LIMIT)?));
        self.limits.insert(pid, (start_ticks, limit));
        limit
    }
}

impl<L: OwnerLookup> OwnerLookup for WithMps<L> {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        self.inner.lookup(pid)
    }

    fn keep_only(&mut self, pids: &[u32]) {
        self.limits.retain(|pid, _| pids.contains(pid));
        self.inner.keep_only(pids);
    }

    fn mps_client(&mut self, pid: u32, start_ticks: u64) -> Option<MpsClient> {
        let said = self.clients.as_ref()?.current();
        let client = said.iter().find(|client| client.pid == pid)?;
        let own = self.own_limit(pid, start_ticks);
        let threads_percent = match (client.server_percent, own) {
            (Some(server), Some(own)) => Some(server.min(own)),
            (server, own) => server.or(own),
        };
        Some(MpsClient { threads_percent })
    }

    fn mps_clients_of(&self, server_pid: u32, device_uuid: &str) -> Vec<u32> {
        let Some(clients) = &self.clients else { return Vec::new() };
        let is_here = |device: &Option<String>| device.as_ref().is_none_or(|d| device_uuid.starts_with(&**d));
        let said = clients.current();
        said.iter().filter(|c| c.server_pid == server_pid && is_here(&c.device)).map(|c| c.pid).collect()
    }
}
