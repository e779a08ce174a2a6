//! The running collector: the tick loop in the main thread, with NVML, shipping, HTTP and control in threads beside it
//! that it never waits for.

use crate::absence::Absence;
use crate::batch::Maker;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::dcgm::WithDcgm;
use crate::device::ThreadedSource;
use crate::host_memory::HostMemory;
use crate::http;
use crate::metrics::{self, OwnInput, UsageTotals};
use crate::node::Engine;
use crate::owner::Procfs;
use crate::reading::Source;
use crate::release::{self, Answer, Asked, Request};
use crate::schedulers::{Owners, Schedulers};
use crate::shipper::{Enrolment, Shipper, ShipperStats};
use crate::snapshot::{Published, Snapshot};
use crate::spool::Spool;
use anyhow::Context;
use schema::id::Incarnation;
use schema::wire::{Batch, Loss};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What wakes the loop besides time.
enum Event {
    Stop,
    Control(Asked),
}

/// Stacks of helper threads: none of them recurses.
const STACK_BYTES: usize = 512 << 10;

/// How long the schedulers' last word is waited for at the end of a run.
const LAST_WORD: Duration = Duration::from_secs(5);

/// A snapshot older than this many periods isn't fresh.
const STALE_PERIODS: i64 = 3;

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Agent {
    config: Config,
    node: String,
    clock: Arc<SystemClock>,
    engine: Engine,
    source: WithDcgm<ThreadedSource>,
    owners: Owners,
    schedulers: Schedulers,
    spool: Arc<Mutex<Spool>>,
    shipping: Option<(Sender<()>, Arc<Mutex<ShipperStats>>)>,
    published: Published,
    usage: UsageTotals,
    xids: BTreeMap<(String, u64), u64>,
    last_xid: BTreeMap<String, u64>,
    losses: Vec<Loss>,
    absence: Absence,
    released_until_ms: Option<i64>,
    read_at_s: f64,
    tick_s: f64,
}

/// Runs until it is told to stop.
///
/// # Errors
/// Something that the collector can't do without: its state directory, its address.
pub fn run(config: Config) -> anyhow::Result<()> {
    let clock = Arc::new(SystemClock);
    let node = config.node_name();
    let spool = Spool::open(&config.spool)
        .context("the spool can't be opened; check spool.directory and its owner")?;
    if spool.stats().volatile {
        tracing::warn!(
            "spool.directory is on a file system in memory: what isn't shipped is lost at a reboot; name one on a disk"
        );
    }
    let spool = Arc::new(Mutex::new(spool));
    let (events, queue) = mpsc::channel();
    release::listen(&config.spool.directory, release::into_queue(events.clone(), Event::Control))
        .context("the control socket can't be made in spool.directory")?;
    let published = Published::default();
    serve(&config, published.clone(), clock.clone(), events)?;
    let incarnation = Incarnation(random()?);
    let shipping = start_shipper(&config, &node, &spool, incarnation)?;
    let mut procfs = Procfs::new(config.owner.procfs.clone(), config.owner.passwd.clone())
        .with_subuid(config.owner.subuid.clone());
    let maker = Maker::new(config.node.cluster.clone(), node.clone(), procfs.boot_id(), incarnation);
    let library = config.nvml.library.clone().map(Into::into);
    let deadline = Duration::from_millis(config.sample.call_deadline_ms);
    let (absence, before) = Absence::open(&config.spool.directory, &maker.boot_id, procfs.booted_ms());
    let schedulers = Schedulers::start(&config, &before, maker.boot_id.clone())?;
    let mut engine = Engine::new(clock.clone(), config.sample.cadence(), config.sample.busy, maker);
    engine = engine.with_held(schedulers.held());
    let period_ms = config.sample.cadence().processes_ms;
    engine = engine.with_host_memory(HostMemory::open(&config.host.sysfs, &config.owner.procfs, period_ms));
    engine.sampler.resume_from(before);
    let agent = Agent {
        engine,
        source: schedulers.source(ThreadedSource::new(library, clock.clone(), deadline)),
        node,
        clock,
        owners: schedulers.owners(procfs, &config),
        schedulers,
        spool,
        shipping,
        published,
        usage: UsageTotals::default(),
        xids: BTreeMap::new(),
        last_xid: BTreeMap::new(),
        losses: Vec::new(),
        absence,
        released_until_ms: None,
        read_at_s: 0.0,
        tick_s: 0.0,
        config,
    };
    tracing::info!(incarnation = %incarnation, revision = metrics::REVISION, "started");
    agent.run(&queue);
    Ok(())
}

/// A random 128-bit id from the kernel.
fn random() -> anyhow::Result<u128> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").context("/dev/urandom")?, &mut bytes)?;
    Ok(u128::from_ne_bytes(bytes))
}

type Shipping = Option<(Sender<()>, Arc<Mutex<ShipperStats>>)>;

fn start_shipper(
    config: &Config,
    node: &str,
    spool: &Arc<Mutex<Spool>>,
    incarnation: Incarnation,
) -> anyhow::Result<Shipping> {
    let Some(server) = &config.server else { return Ok(None) };
    let enrolment = Enrolment {
        url: server.url.clone(),
        credential_file: server
            .credential_file
            .clone()
            .unwrap_or_else(|| config.spool.directory.join("credential")),
        join_token_file: server.join_token_file.clone(),
        cluster: config.node.cluster.clone(),
        node: node.to_owned(),
    };
    let stats = Arc::new(Mutex::new(ShipperStats::default()));
    let seed = u64::try_from(incarnation.0 >> 64).expect("the upper half of 128 bits");
    let shipper = Shipper::new(enrolment, spool.clone(), stats.clone(), seed);
    let (wake, woken) = mpsc::channel();
    std::thread::Builder::new()
        .name("ship".into())
        .stack_size(STACK_BYTES)
        .spawn(move || shipper.run(&woken))?;
    Ok(Some((wake, stats)))
}

/// Starts the HTTP thread, which also takes the signals; fails at once where the address can't be had.
fn serve(
    config: &Config,
    published: Published,
    clock: Arc<SystemClock>,
    events: Sender<Event>,
) -> anyhow::Result<()> {
    let listen = config.http.listen;
    let listener = std::net::TcpListener::bind(listen)
        .with_context(|| format!("http.listen: {listen} can't be listened on"))?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let queue = events.clone();
    let serve = move || {
        runtime.block_on(async move {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut terminate), Ok(mut interrupt), Ok(mut release), Ok(mut resume)) = (
                signal(SignalKind::terminate()),
                signal(SignalKind::interrupt()),
                signal(SignalKind::user_defined1()),
                signal(SignalKind::user_defined2()),
            ) else {
                return;
            };
            // For who can send a signal but not reach the control socket.
            let controls = async move {
                loop {
                    let request = tokio::select! {
                        _ = release.recv() => Request::Release(release::RELEASE_S),
                        _ = resume.recv() => Request::Resume,
                    };
                    let _ = queue.send(Event::Control(Asked::by_signal(request)));
                }
            };
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let server = axum::serve(listener, http::router(published, clock));
            tokio::select! {
                _ = server => {}
                () = controls => {}
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        let _ = events.send(Event::Stop);
    };
    std::thread::Builder::new().name("http".into()).stack_size(STACK_BYTES).spawn(serve)?;
    Ok(())
}

impl Agent {
    fn run(mut self, queue: &Receiver<Event>) {
        loop {
            self.tick();
            match queue.recv_timeout(self.until_next_tick()) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Control(asked)) => self.control(&asked),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return self.stop(),
            }
        }
    }

    /// Ticks lie on whole multiples of the period, so that windows end on one.
    fn until_next_tick(&self) -> Duration {
        let period = self.config.sample.cadence().gauges_ms;
        let left = period - self.engine.now_ms().rem_euclid(period);
        Duration::from_millis(u64::try_from(left).expect("a remainder is less than the period"))
    }

    fn control(&mut self, asked: &Asked) {
        let answer = match asked.request {
            Request::Resume => {
                self.released_until_ms = None;
                Answer::Done
            }
            Request::Release(seconds) => {
                let ms = i64::try_from(seconds * 1000).expect("at most a day");
                self.released_until_ms = Some(self.clock.boot_ms() + ms);
                let gone = self.source.release();
                tracing::info!(seconds, gone, "NVML is released on request");
                if gone { Answer::Done } else { Answer::StillHeld }
            }
        };
        asked.answer(answer);
    }

    fn tick(&mut self) {
        let began = Instant::now();
        self.take_losses();
        let released = self.released_until_ms.is_some_and(|until| self.clock.boot_ms() < until);
        let batches = if released {
            self.engine.released(&mut self.losses)
        } else {
            self.released_until_ms = None;
            self.engine.tick(&mut self.source, &mut self.owners, &mut self.losses)
        };
        self.schedulers.observe(&self.engine.sampler.last);
        self.count_xids();
        self.store(&batches);
        if self.engine.sampler.last.failed.is_none() {
            self.read_at_s = self.clock.wall_ms() as f64 / 1e3;
        }
        self.tick_s = began.elapsed().as_secs_f64();
        self.publish();
    }

    fn take_losses(&mut self) {
        self.losses.extend(locked(&self.spool).take_losses());
    }

    fn count_xids(&mut self) {
        for device in &self.engine.sampler.last.devices {
            for xid in &device.xids {
                *self.xids.entry((device.identity.uuid.clone(), *xid)).or_default() += 1;
                self.last_xid.insert(device.identity.uuid.clone(), *xid);
            }
        }
    }

    fn store(&mut self, batches: &[Batch]) {
        self.usage.add(batches);
        for batch in batches {
            if let Err(error) = locked(&self.spool).append(batch) {
                tracing::error!(error = %format!("{:#}", anyhow::Error::new(error)), "a batch is lost; sampling goes on");
            }
        }
        if let Err(error) = self.absence.reached(batches) {
            tracing::warn!(%error, "how far windows reach can't be kept in spool.directory");
        }
        if let (false, Some((wake, _))) = (batches.is_empty(), &self.shipping) {
            let _ = wake.send(());
        }
    }

    fn procfs(&self) -> &Procfs {
        self.owners.inner().inner().inner()
    }

    fn publish(&self) {
        let spool = locked(&self.spool).stats();
        let shipper = self.shipping.as_ref().map(|(_, stats)| locked(stats).clone());
        let mut not_ready = Vec::new();
        if let Some((reason, text)) = &self.engine.sampler.last.failed {
            not_ready.push(format!("{reason:?}: {text}"));
        }
        for track in self.engine.sampler.tracks() {
            not_ready.extend(track.failing().map(|reason| format!("{}: {reason:?}", track.identity.uuid)));
        }
        if self.engine.sampler.tracks().is_empty() {
            not_ready.push("no GPU was seen yet".to_owned());
        }
        not_ready.extend(self.procfs().wrong_place().map(|place| place.to_string()));
        not_ready.extend(self.schedulers.not_ready(self.clock.wall_ms()));
        let mut own = metrics::render_own(&OwnInput {
            node: &self.node,
            sampler: &self.engine.sampler,
            usage: &self.usage,
            spool: Some(spool),
            shipper,
            xids: &self.xids,
            tick_s: self.tick_s,
            clock_steps: self.engine.clock_steps,
            owners_unresolved: self.procfs().unresolved(),
            moved_slots: self.engine.held.moved(),
            parked_threads: self.source.inner().parked(),
            read_at_s: self.read_at_s,
        });
        own.push_str(&self.schedulers.render(&self.node, self.clock.wall_ms()));
        let dcgm = metrics::render_dcgm(
            &self.node,
            &self.config.http.dcgm_host_label,
            &self.engine.sampler,
            &self.last_xid,
        );
        let stale_after_boot_ms =
            self.clock.boot_ms() + STALE_PERIODS * self.config.sample.cadence().gauges_ms;
        self.published.publish(Snapshot { own, dcgm, not_ready, stale_after_boot_ms });
    }

    /// The unfinished window goes to the spool; it is shipped after the next start.
    fn stop(mut self) {
        self.take_losses();
        self.schedulers.wait_for_word(self.engine.now_ms(), LAST_WORD);
        let batches = self.engine.finish(&mut self.losses);
        self.store(&batches);
        let _ = std::fs::remove_file(release::socket(&self.config.spool.directory));
        tracing::info!("stopped");
    }
}
