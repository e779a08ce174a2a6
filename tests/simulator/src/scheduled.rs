//! A node in virtual time on which a scheduler is asked besides: held time by Kubernetes' word, and a collector that goes
//! on where an earlier one's windows ended.
//!
//! [`SimNode`](crate::node::SimNode) is the node without a scheduler; here the caller brings a witness and lets it speak
//! between two advances, as the agent does with threads.

use crate::library::Library;
use crate::node::{Cadence, NodeFiles};
use anyhow::Result;
use collector::absence::Before;
use collector::batch::Maker;
use collector::clock::{Clock, ManualClock};
use collector::config::{BusySource, Sample};
use collector::device::NvmlSource;
use collector::held::Held;
use collector::kubernetes::Witness;
use collector::kubernetes::devices::KnownDevice;
use collector::node::Engine;
use collector::owner::Procfs;
use collector::reading::NodeReading;
use nvidia_ml::scenario::Scenario;
use schema::id::Incarnation;
use schema::wire::Batch;
use std::path::Path;
use std::sync::Arc;

/// How long slices wait for the word, milliseconds: longer than any run, so that none goes without it.
const WAIT_MS: i64 = 1_000 * 3_600_000;

/// What a collector is started with.
pub struct Start<'a> {
    /// A directory of its own.
    pub dir: &'a Path,
    /// Cluster's name.
    pub cluster: &'a str,
    /// What is true of the node.
    pub scenario: &'a Scenario,
    /// How often it is sampled.
    pub cadence: Cadence,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Which collector start this is: different numbers for different starts.
    pub incarnation: u128,
    /// Who tells of held time; without one it comes from processes.
    pub witness: Option<Witness>,
    /// What an earlier collector left to go on from.
    pub before: Before,
}

/// One collector start on a node.
pub struct ScheduledNode {
    library: Library,
    clock: ManualClock,
    engine: Engine,
    source: NvmlSource,
    owners: Procfs,
    witness: Option<Witness>,
    period_ms: i64,
    made: Vec<Batch>,
}

impl ScheduledNode {
    /// Starts the collector and reads the node once: the witness, if any, then knows its devices.
    ///
    /// # Errors
    /// The scenario contradicts itself, or the directory can't be written.
    pub fn new(start: Start<'_>) -> Result<Self> {
        let files = NodeFiles::write(start.dir, start.scenario)?;
        let library = Library::copy_into(start.dir)?;
        library.load_scenario(&files.scenario)?;
        library.set_time_ms(start.at_ms)?;
        library.set_procfs(&files.procfs)?;
        let clock = ManualClock::at(start.at_ms);
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let sample = Sample {
            gauges_ms: start.cadence.gauges_ms,
            processes_ms: start.cadence.processes_ms,
            window_ms: start.cadence.window_ms,
            ..Sample::default()
        };
        let cadence = sample.cadence();
        let boot_id = start.scenario.boot_id.clone().unwrap_or_default();
        let incarnation = Incarnation(start.incarnation);
        let maker = Maker::new(start.cluster.to_owned(), start.scenario.node.clone(), boot_id, incarnation);
        let boards = start.witness.iter().map(|witness| witness.board.clone()).collect();
        let mut engine = Engine::new(shared.clone(), cadence, BusySource::default(), maker)
            .with_held(Held::new(boards, WAIT_MS));
        engine.sampler.resume_from(start.before);
        let mut node = Self {
            source: NvmlSource::new(Some(library.path().to_path_buf().into_os_string()), shared),
            owners: Procfs::new(files.procfs, None),
            library,
            clock,
            engine,
            witness: start.witness,
            period_ms: cadence.gauges_ms,
            made: Vec::new(),
        };
        node.tick();
        Ok(node)
    }

    fn tick(&mut self) {
        self.made.extend(self.engine.tick(&mut self.source, &mut self.owners, &mut Vec::new()));
        let Some(witness) = &self.witness else { return };
        let known = self.engine.sampler.last.devices.iter().map(|device| KnownDevice {
            uuid: device.identity.uuid.clone(),
            index: device.identity.index,
            minor: device.identity.minor,
            memory_mib: device.identity.memory_total_bytes.and_then(|bytes| u32::try_from(bytes >> 20).ok()),
        });
        witness.devices.set(known.collect());
    }

    /// Lets time pass up to `until_ms`, ticking on whole multiples of the period.
    ///
    /// # Errors
    /// The library's side channel failed.
    pub fn advance_to(&mut self, until_ms: i64) -> Result<()> {
        loop {
            let next_ms = (self.clock.wall_ms().div_euclid(self.period_ms) + 1) * self.period_ms;
            if next_ms > until_ms {
                return Ok(());
            }
            self.clock.advance_to(next_ms);
            self.library.set_time_ms(next_ms)?;
            self.tick();
        }
    }

    /// What the node last said of itself.
    pub fn last(&self) -> &NodeReading {
        &self.engine.sampler.last
    }

    /// An orderly end: the unfinished window and all that waited, with everything made before.
    pub fn finish(mut self) -> Vec<Batch> {
        let last = self.engine.finish(&mut Vec::new());
        self.made.extend(last);
        self.made
    }
}
