//! One simulated node in virtual time: a scenario, its library, its `/proc`, and the shipped collector code over them.

use crate::library::Library;
use anyhow::Result;
use collector::clock::ManualClock;
use collector::config::{BusySource, Sample};
use collector::node::{Node, NodeConfig};
use nvidia_ml::scenario::Scenario;
use schema::id::Incarnation;
use schema::wire::Batch;
use std::path::{Path, PathBuf};

/// How often a node is sampled in virtual time, milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Cadence {
    /// Gauges, utilisation, GPM.
    pub gauges_ms: u64,
    /// Process lists: a whole multiple of `gauges_ms`.
    pub processes_ms: u64,
    /// Length of a usage window: divides 15 minutes.
    pub window_ms: u64,
}

impl Cadence {
    /// What a collector does unless it is told otherwise.
    pub const DEFAULT: Cadence = Cadence { gauges_ms: 5_000, processes_ms: 10_000, window_ms: 60_000 };
    /// Coarse, so that a month passes in seconds.
    pub const BACKFILL: Cadence = Cadence { gauges_ms: 300_000, processes_ms: 300_000, window_ms: 900_000 };
}

/// A node of the simulation.
pub struct SimNode {
    library: Library,
    node: Node,
    clock: ManualClock,
    started: bool,
}

impl SimNode {
    /// Sets a node up in `dir` with its clock at `start_ms` (Unix milliseconds). `incarnation` must differ between nodes
    /// and starts; fixed numbers make a run repeatable.
    ///
    /// # Errors
    /// The scenario contradicts itself, or `dir` can't be written.
    pub fn new(
        dir: &Path,
        cluster: &str,
        scenario: &Scenario,
        cadence: Cadence,
        start_ms: i64,
        incarnation: u128,
    ) -> Result<Self> {
        let files = NodeFiles::write(dir, scenario)?;
        let library = Library::copy_into(dir)?;
        library.load_scenario(&files.scenario)?;
        library.set_time_ms(start_ms)?;
        library.set_procfs(&files.procfs)?;
        let clock = ManualClock::at(start_ms);
        let sample = Sample {
            gauges_ms: cadence.gauges_ms,
            processes_ms: cadence.processes_ms,
            window_ms: cadence.window_ms,
            ..Sample::default()
        };
        let config = NodeConfig {
            cluster: cluster.to_string(),
            node: scenario.node.clone(),
            nvml_library: library.path().to_path_buf(),
            procfs: files.procfs,
            passwd: None,
            cadence: sample.cadence(),
            busy: BusySource::default(),
            incarnation: Incarnation(incarnation),
        };
        let node = Node::new(config, clock.clone());
        Ok(Self { library, node, clock, started: false })
    }

    /// Lets time pass up to `until_ms` and returns the batches that it made.
    ///
    /// # Errors
    /// The library's side channel failed.
    pub fn advance_to(&mut self, until_ms: i64) -> Result<Vec<Batch>> {
        let mut batches = Vec::new();
        if !self.started {
            self.started = true;
            batches.extend(self.node.tick());
        }
        let mut failed = None;
        let library = &self.library;
        batches.extend(self.node.advance_to(until_ms, &mut |ms| {
            if let Err(error) = library.set_time_ms(ms) {
                failed = Some(error);
            }
        }));
        failed.map_or(Ok(batches), Err)
    }

    /// What is known of the unfinished window, at the end of a run.
    pub fn flush(&mut self) -> Vec<Batch> {
        self.node.flush()
    }

    /// The node's clocks: step them to see what a step does.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// The node's library: call counts.
    pub fn library(&self) -> &Library {
        &self.library
    }
}

/// The files that make a directory a node.
pub struct NodeFiles {
    /// The scenario.
    pub scenario: PathBuf,
    /// The `/proc` that the library keeps in step.
    pub procfs: PathBuf,
}

impl NodeFiles {
    /// Writes them.
    ///
    /// # Errors
    /// The scenario contradicts itself, or `dir` can't be written.
    pub fn write(dir: &Path, scenario: &Scenario) -> Result<Self> {
        scenario.check()?;
        let files = Self { scenario: dir.join("scenario.toml"), procfs: dir.join("proc") };
        std::fs::create_dir_all(&files.procfs)?;
        std::fs::write(&files.scenario, scenario.to_toml())?;
        Ok(files)
    }
}

/// Runs nodes to the end of `[start_ms, end_ms)`, two at a time, and hands over each one's batches in steps of a day so
/// that a month doesn't have to fit in memory.
///
/// # Errors
/// A node failed, or `take` did.
pub fn run_all(
    nodes: Vec<SimNode>,
    start_ms: i64,
    end_ms: i64,
    take: &(dyn Fn(usize, Vec<Batch>) -> Result<()> + Sync),
) -> Result<()> {
    const STEP_MS: i64 = 24 * 3_600_000;
    let queue = std::sync::Mutex::new(nodes.into_iter().enumerate());
    let worker = || -> Result<()> {
        loop {
            let Some((index, mut node)) = queue.lock().expect("no worker panics holding it").next() else {
                return Ok(());
            };
            let mut at_ms = start_ms;
            while at_ms < end_ms {
                at_ms = (at_ms + STEP_MS).min(end_ms);
                let mut batches = node.advance_to(at_ms)?;
                if at_ms == end_ms {
                    batches.extend(node.flush());
                }
                take(index, batches)?;
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("a worker doesn't panic"))
    })
}
