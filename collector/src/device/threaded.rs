//! Readings from a thread of its own, so that a call that never returns costs one device and not the collector.
//!
//! The thread hands devices over one by one. When a call runs past its deadline the thread is left where it is (it
//! can't be interrupted), its device is set aside until the call returns, and a successor with a session of its own reads
//! the others. There are only so many successors: each may be stuck in the driver for ever. Loading the library and
//! leaving it count as calls: they hang too.

use super::call::{At, Progress};
use super::session::NvmlSource;
use crate::clock::Clock;
use crate::reading::{CallStats, DeviceReading, Identity, NodeReading, Plan, Source};
use schema::wire::Reason;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many threads may be stuck at once; with one more the collector would be hurting the node.
const PARKED_MAX: usize = 3;

/// How often the running call's age is looked at.
const WATCH: Duration = Duration::from_millis(50);

/// The reading thread's stack: NVML itself needs little.
const STACK_BYTES: usize = 512 << 10;

enum Request {
    Read(Plan),
    Release,
}

enum Answer {
    Device(Box<DeviceReading>),
    Done(Result<CallStats, Failed>),
}

type Failed = (Reason, String);

/// Indices of devices that parked threads hold, with the identity to report them by where it is known.
type SetAside = Arc<Mutex<BTreeMap<u32, Option<Arc<Identity>>>>>;

/// What a thread was parked at; `None` while it isn't parked.
type Parked = Arc<Mutex<Option<Option<At>>>>;

struct Worker {
    requests: Sender<Request>,
    answers: Receiver<Answer>,
    progress: Arc<Progress>,
    epoch: Instant,
    parked: Parked,
}

/// A source that survives hanging calls.
pub struct ThreadedSource {
    library: Option<OsString>,
    clock: Arc<dyn Clock>,
    deadline: Duration,
    worker: Option<Worker>,
    set_aside: SetAside,
    parked: usize,
    returned: (Sender<()>, Receiver<()>),
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ThreadedSource {
    /// As [`NvmlSource::new`], with the time after which a call counts as hung.
    pub fn new(library: Option<OsString>, clock: Arc<dyn Clock>, deadline: Duration) -> Self {
        Self {
            library,
            clock,
            deadline,
            worker: None,
            set_aside: SetAside::default(),
            parked: 0,
            returned: mpsc::channel(),
        }
    }

    /// Threads that were stuck in the driver at the last reading.
    pub fn parked(&self) -> usize {
        self.parked
    }

    /// Counts the threads that came back.
    fn reap(&mut self) {
        while self.returned.1.try_recv().is_ok() {
            self.parked -= 1;
        }
    }

    fn spawn(&mut self) -> Result<(), Failed> {
        self.reap();
        if self.worker.is_some() {
            return Ok(());
        }
        if self.parked >= PARKED_MAX {
            return Err((
                Reason::CallHung,
                format!("{PARKED_MAX} threads are stuck in the driver; no more are started"),
            ));
        }
        let source = NvmlSource::new(self.library.clone(), self.clock.clone());
        let (progress, epoch) = source.progress();
        let (requests, request_queue) = mpsc::channel();
        let (answer_queue, answers) = mpsc::channel();
        let parked = Parked::default();
        let (set_aside, own, returned) = (self.set_aside.clone(), parked.clone(), self.returned.0.clone());
        std::thread::Builder::new()
            .name("nvml".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                serve(source, &request_queue, &answer_queue, &set_aside);
                // A parked thread whose call came back has left the driver: its device may be read again.
                if let Some(at) = locked(&own).take() {
                    if let Some((index, _)) = at {
                        locked(&set_aside).remove(&index);
                    }
                    let _ = returned.send(());
                }
            })
            .map_err(|error| (Reason::NvmlError, format!("the NVML thread could not be started: {error}")))?;
        self.worker = Some(Worker { requests, answers, progress, epoch, parked });
        Ok(())
    }

    /// One reading by the current worker; `None` where a call hung and the worker was parked.
    fn ask(&mut self, plan: &Plan, devices: &mut Vec<DeviceReading>) -> Option<Result<CallStats, Failed>> {
        match self.spawn() {
            Ok(()) => self.exchange(Request::Read(*plan), devices),
            Err(failed) => Some(Err(failed)),
        }
    }

    fn exchange(
        &mut self,
        request: Request,
        devices: &mut Vec<DeviceReading>,
    ) -> Option<Result<CallStats, Failed>> {
        let worker = self.worker.as_ref()?;
        let mut ended = worker.requests.send(request).is_err();
        while !ended {
            match worker.answers.recv_timeout(WATCH) {
                Ok(Answer::Device(device)) => devices.push(*device),
                Ok(Answer::Done(outcome)) => return Some(outcome),
                Err(RecvTimeoutError::Disconnected) => ended = true,
                Err(RecvTimeoutError::Timeout) => {
                    let running = worker.progress.running_for_us(worker.epoch).unwrap_or(0);
                    if Duration::from_micros(running) > self.deadline {
                        self.park();
                        return None;
                    }
                }
            }
        }
        self.worker = None;
        Some(Err((Reason::NvmlError, "the NVML thread ended".into())))
    }

    fn park(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        self.parked += 1;
        let at = worker.progress.device();
        let uuid = at.as_ref().and_then(|(_, identity)| identity.as_ref()).map(|identity| &*identity.uuid);
        tracing::error!(uuid, "an NVML call hung; its thread is parked and its device set aside");
        let mut parked = locked(&worker.parked);
        if let Some((index, identity)) = &at {
            locked(&self.set_aside).insert(*index, identity.clone());
        }
        *parked = Some(at);
    }
}

/// The thread: answers requests until nobody asks any more.
fn serve(
    mut source: NvmlSource,
    requests: &Receiver<Request>,
    answers: &Sender<Answer>,
    set_aside: &SetAside,
) {
    while let Ok(request) = requests.recv() {
        // Nobody listens any more to a thread that was parked: it leaves the other devices to its successor.
        let left = Cell::new(false);
        let done = match request {
            Request::Release => {
                source.release();
                Ok(CallStats::default())
            }
            Request::Read(plan) => {
                let skip = |index: u32| left.get() || locked(set_aside).contains_key(&index);
                source.read_each(&plan, &skip, &mut |device| {
                    left.set(answers.send(Answer::Device(Box::new(device))).is_err());
                })
            }
        };
        if left.get() || answers.send(Answer::Done(done)).is_err() {
            break;
        }
    }
    source.release();
}

impl Source for ThreadedSource {
    fn read(&mut self, plan: &Plan) -> NodeReading {
        let mut reading = NodeReading::default();
        let mut outcome = self.ask(plan, &mut reading.devices);
        while outcome.is_none() {
            // The devices that the hung thread had not come to yet are read by its successor in the same tick.
            let mut rest = Vec::new();
            outcome = self.ask(plan, &mut rest);
            for device in rest {
                if !reading.devices.iter().any(|seen| seen.identity.uuid == device.identity.uuid) {
                    reading.devices.push(device);
                }
            }
        }
        match outcome.expect("the loop ends with an outcome") {
            Ok(stats) => reading.stats = stats,
            // Devices that were read before stand; the others fail for this reason.
            Err(failed) => reading.failed = Some(failed),
        }
        for identity in locked(&self.set_aside).values().flatten() {
            let boot_ms = self.clock.boot_ms();
            let outcome = Err(Reason::CallHung);
            let (identity, xids) = (identity.clone(), Vec::new());
            reading.devices.push(DeviceReading { identity, boot_ms, xids, outcome });
        }
        reading
    }

    fn release(&mut self) -> bool {
        self.exchange(Request::Release, &mut Vec::new());
        self.reap();
        self.parked == 0
    }
}
