//! A node without threads, sockets or files: the sampling of `run`, driven by hand. Tests and simulations let a month
//! pass in seconds with it, many nodes in one process.

use crate::batch::Maker;
use crate::clock::{Clock, ManualClock, Step, Timeline};
use crate::config::{BusySource, Cadence};
use crate::device::NvmlSource;
use crate::held::Held;
use crate::host_memory::{HostMemory, Resident};
use crate::owner::{OwnerLookup, Procfs};
use crate::reading::Source;
use crate::sampler::Sampler;
use crate::slice::Closed;
use schema::id::Incarnation;
use schema::wire::{Batch, Loss};
use std::path::PathBuf;
use std::sync::Arc;

/// What a node is told.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Cluster's name.
    pub cluster: String,
    /// Node's name.
    pub node: String,
    /// NVML library to load; copies of the simulated one under different paths are different nodes.
    pub nvml_library: PathBuf,
    /// The `/proc` that fits it.
    pub procfs: PathBuf,
    /// File with user names.
    pub passwd: Option<PathBuf>,
    /// Periods, window and budget.
    pub cadence: Cadence,
    /// What busy means outside MIG.
    pub busy: BusySource,
    /// Identity of this collector start; random in `run`, chosen where a run must be repeatable.
    pub incarnation: Incarnation,
}

/// Sampling, attribution and batches of one node: what `run` and a simulation share.
pub struct Engine {
    clock: Arc<dyn Clock>,
    timeline: Timeline,
    /// The sampling state.
    pub sampler: Sampler,
    /// Slices on their way into batches.
    pub held: Held,
    host_memory: Option<HostMemory>,
    maker: Maker,
    /// Steps of the wall clock seen so far.
    pub clock_steps: u64,
}

impl Engine {
    /// An engine that starts now.
    pub fn new(clock: Arc<dyn Clock>, cadence: Cadence, busy: BusySource, maker: Maker) -> Self {
        Self {
            timeline: Timeline::new(&*clock),
            clock,
            sampler: Sampler::new(cadence, busy),
            held: Held::new(Vec::new(), 0),
            host_memory: None,
            maker,
            clock_steps: 0,
        }
    }

    /// With the schedulers' word on held time.
    pub fn with_held(self, held: Held) -> Self {
        Self { held, ..self }
    }

    /// With readings of host memory, on a node where it has tiers.
    pub fn with_host_memory(self, host_memory: Option<HostMemory>) -> Self {
        Self { host_memory, ..self }
    }

    /// The present in UTC as windows count it, Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.timeline.at(self.clock.boot_ms())
    }

    /// The collector start that batches are of.
    pub fn incarnation(&self) -> Incarnation {
        self.maker.incarnation()
    }

    fn has_boot_id(&self) -> bool {
        !self.maker.boot_id.is_empty()
    }

    /// The kernel's boot id, which batches carry.
    pub fn set_boot_id(&mut self, boot_id: String) {
        self.maker.boot_id = boot_id;
    }

    fn check_clock(&mut self) {
        match self.timeline.check(&*self.clock) {
            Step::None => {}
            Step::Ahead { to_ms, .. } => {
                self.clock_steps += 1;
                self.sampler.stepped(to_ms);
            }
            Step::Back { .. } => self.clock_steps += 1,
        }
    }

    /// One tick, and the batches of the windows that it finished. `losses` travel with the next batch.
    pub fn tick(
        &mut self,
        source: &mut dyn Source,
        owners: &mut dyn OwnerLookup,
        losses: &mut Vec<Loss>,
    ) -> Vec<Batch> {
        self.check_clock();
        let timeline = self.timeline;
        let now_ms = self.now_ms();
        self.sampler.tick(now_ms, &|boot_ms| timeline.at(boot_ms), source, owners);
        if let Some(host_memory) = &mut self.host_memory {
            let residents = self.sampler.tracks().iter().flat_map(|track| track.owners());
            host_memory.observe(
                now_ms,
                residents.map(|resident| Resident {
                    pid: resident.pid,
                    start_ticks: resident.start_ticks,
                    owner: resident.holder.owner.clone(),
                }),
            );
        }
        self.batches(losses)
    }

    /// A tick while NVML is let go of.
    pub fn released(&mut self, losses: &mut Vec<Loss>) -> Vec<Batch> {
        self.check_clock();
        self.sampler.released(self.now_ms());
        self.batches(losses)
    }

    fn batches(&mut self, losses: &mut Vec<Loss>) -> Vec<Batch> {
        let now_ms = self.now_ms();
        let mut closed = self.sampler.take_windows(now_ms);
        self.attach_host_memory(&mut closed);
        let closed = self.held.pass(closed, now_ms);
        if closed.is_empty() {
            return Vec::new();
        }
        self.maker.make(closed, std::mem::take(losses), now_ms)
    }

    fn attach_host_memory(&mut self, closed: &mut [Closed]) {
        if let Some(host_memory) = &mut self.host_memory {
            host_memory.attach(closed);
        }
    }

    /// What is known of the window that isn't finished, and losses not yet declared, at the end of a run.
    pub fn finish(&mut self, losses: &mut Vec<Loss>) -> Vec<Batch> {
        let now_ms = self.now_ms();
        let mut closed = self.sampler.finish();
        self.attach_host_memory(&mut closed);
        let closed = self.held.finish(closed);
        self.maker.make(closed, std::mem::take(losses), now_ms)
    }
}

/// A node in virtual time.
pub struct Node {
    clock: ManualClock,
    cadence: Cadence,
    engine: Engine,
    source: NvmlSource,
    owners: Procfs,
}

impl Node {
    /// A node whose time starts at the clock's present. The library is loaded at the first tick.
    pub fn new(config: NodeConfig, clock: ManualClock) -> Self {
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let owners = Procfs::new(config.procfs, config.passwd);
        let maker = Maker::new(config.cluster, config.node, String::new(), config.incarnation);
        Self {
            engine: Engine::new(shared.clone(), config.cadence, config.busy, maker),
            source: NvmlSource::new(Some(config.nvml_library.into_os_string()), shared),
            cadence: config.cadence,
            clock,
            owners,
        }
    }

    /// Reads the node at the clock's present; batches of windows that this finished.
    pub fn tick(&mut self) -> Vec<Batch> {
        // A simulated library fills its `/proc` when it is loaded, which is at the first tick.
        if !self.engine.has_boot_id() {
            self.engine.set_boot_id(self.owners.boot_id());
        }
        self.engine.tick(&mut self.source, &mut self.owners, &mut Vec::new())
    }

    /// The instant of the next tick: the next multiple of the gauges' period, Unix milliseconds.
    pub fn next_tick_ms(&self) -> i64 {
        let period = self.cadence.gauges_ms;
        (self.clock.wall_ms().div_euclid(period) + 1) * period
    }

    /// Lets time pass up to `unix_ms`, ticking on the way. `before_tick` is called with each tick's instant in Unix
    /// milliseconds before it, to set the simulated library's clock.
    pub fn advance_to(&mut self, unix_ms: i64, before_tick: &mut dyn FnMut(i64)) -> Vec<Batch> {
        let mut batches = Vec::new();
        while self.next_tick_ms() <= unix_ms {
            let at = self.next_tick_ms();
            self.clock.advance_to(at);
            before_tick(at);
            batches.extend(self.tick());
        }
        batches
    }

    /// What is known of the unfinished window, at the end.
    pub fn flush(&mut self) -> Vec<Batch> {
        self.engine.finish(&mut Vec::new())
    }

    /// The sampling state, to look at.
    pub fn sampler(&self) -> &Sampler {
        &self.engine.sampler
    }
}
