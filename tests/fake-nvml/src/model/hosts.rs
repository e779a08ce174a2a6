//! Processes as the kernel knows them: one PID's entries on several GPUs are one process, and when any starts or ends
//! the set of living ones changes.

use std::collections::BTreeMap;

use super::Clock;
use crate::scenario::Scenario;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    /// PID on the host.
    pub pid: u32,
    /// When it started.
    pub start_us: i64,
    /// When it has gone.
    pub end_us: i64,
    /// The scenario's entry that says who it is (the first of its entries).
    pub entry: usize,
}

/// Every process of the node.
#[derive(Debug)]
pub struct Hosts {
    processes: Vec<HostProcess>,
    changes_us: Vec<i64>,
}

impl Hosts {
    pub(super) fn new(scenario: &Scenario, clock: &Clock) -> Self {
        let mut by_pid: BTreeMap<u32, Vec<HostProcess>> = BTreeMap::new();
        for (entry, process) in scenario.processes.iter().enumerate() {
            let (start_us, end_us) = (clock.at(process.start), clock.end(process.end));
            by_pid.entry(process.pid).or_default().push(HostProcess {
                pid: process.pid,
                start_us,
                end_us,
                entry,
            });
        }
        let mut processes: Vec<HostProcess> = Vec::new();
        for mut entries in by_pid.into_values() {
            entries.sort_by_key(|entry| (entry.start_us, entry.entry));
            for entry in entries {
                match processes.last_mut() {
                    Some(last) if last.pid == entry.pid && entry.start_us < last.end_us => {
                        last.end_us = last.end_us.max(entry.end_us);
                    }
                    _ => processes.push(entry),
                }
            }
        }
        let mut changes_us: Vec<i64> =
            processes.iter().flat_map(|process| [process.start_us, process.end_us]).collect();
        changes_us.sort_unstable();
        changes_us.dedup();
        Self { processes, changes_us }
    }

    /// Processes that live at an instant, by PID.
    pub fn alive_at(&self, at_us: i64) -> impl Iterator<Item = &HostProcess> {
        self.processes.iter().filter(move |process| process.start_us <= at_us && at_us < process.end_us)
    }

    /// A number that is the same at two instants if the same processes live at both and all between.
    pub fn epoch_at(&self, at_us: i64) -> usize {
        self.changes_us.partition_point(|change| *change <= at_us)
    }

    /// The living process of this PID.
    pub fn find(&self, pid: u32, at_us: i64) -> Option<&HostProcess> {
        self.alive_at(at_us).find(|process| process.pid == pid)
    }
}
