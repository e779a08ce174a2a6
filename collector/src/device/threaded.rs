//! Readings from a thread of its own, so that a call that never returns costs one device and not the collector.
//!
//! The thread hands devices over one by one. When a call runs past its deadline the thread is left where it is (it
//! can't be interrupted), its device is set aside until the call returns, and a successor reads the others. There are
//! only so many successors: each may be stuck in the driver for ever.

use super::call::Progress;
use super::session::NvmlSource;
use crate::clock::Clock;
use crate::reading::{CallStats, DeviceReading, Identity, NodeReading, Plan, Source};
use schema::wire::Reason;
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
    Done(Result<CallStats, (Reason, String)>),
}

/// UUIDs that a parked thread holds, with the identity to report them by.
type SetAside = Arc<Mutex<BTreeMap<String, Arc<Identity>>>>;

struct Worker {
    requests: Sender<Request>,
    answers: Receiver<Answer>,
    progress: Arc<Progress>,
    epoch: Instant,
    parked: Arc<Mutex<bool>>,
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

    /// Threads that are stuck in the driver now.
    pub fn parked(&self) -> usize {
        self.parked
    }

    fn spawn(&mut self) -> Result<(), (Reason, String)> {
        while self.returned.1.try_recv().is_ok() {
            self.parked -= 1;
        }
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
        let parked = Arc::new(Mutex::new(false));
        let (set_aside, flag, returned) = (self.set_aside.clone(), parked.clone(), self.returned.0.clone());
        std::thread::Builder::new()
            .name("nvml".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                serve(source, &request_queue, &answer_queue, &set_aside);
                // A parked thread whose call came back gives its device back and ends.
                if *locked(&flag) {
                    let _ = returned.send(());
                }
            })
            .map_err(|error| (Reason::NvmlError, format!("the NVML thread could not be started: {error}")))?;
        self.worker = Some(Worker { requests, answers, progress, epoch, parked });
        Ok(())
    }

    /// One request to the current worker; `None` where a call hung and the worker was parked.
    fn ask(
        &mut self,
        plan: &Plan,
        devices: &mut Vec<DeviceReading>,
    ) -> Option<Result<CallStats, (Reason, String)>> {
        if let Err(failed) = self.spawn() {
            return Some(Err(failed));
        }
        let worker = self.worker.as_ref().expect("a worker was just started");
        if worker.requests.send(Request::Read(*plan)).is_err() {
            self.worker = None;
            return Some(Err((Reason::NvmlError, "the NVML thread ended".into())));
        }
        loop {
            match worker.answers.recv_timeout(WATCH) {
                Ok(Answer::Device(device)) => devices.push(*device),
                Ok(Answer::Done(outcome)) => return Some(outcome),
                Err(RecvTimeoutError::Disconnected) => {
                    self.worker = None;
                    return Some(Err((Reason::NvmlError, "the NVML thread ended".into())));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let running = worker.progress.running_for_us(worker.epoch).unwrap_or(0);
                    if Duration::from_micros(running) > self.deadline {
                        break;
                    }
                }
            }
        }
        self.park();
        None
    }

    fn park(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        *locked(&worker.parked) = true;
        self.parked += 1;
        if let Some(identity) = worker.progress.device() {
            tracing::error!(uuid = %identity.uuid, "an NVML call hung; its thread is parked and its device set aside");
            locked(&self.set_aside).insert(identity.uuid.clone(), identity);
        }
    }
}

/// The thread: answers requests until nobody asks any more.
fn serve(
    mut source: NvmlSource,
    requests: &Receiver<Request>,
    answers: &Sender<Answer>,
    set_aside: &SetAside,
) {
    let (progress, _) = source.progress();
    while let Ok(request) = requests.recv() {
        match request {
            Request::Release => source.release(),
            Request::Read(plan) => {
                let skip = |uuid: &str| locked(set_aside).contains_key(uuid);
                let mut lost = false;
                let done = source.read_each(&plan, &skip, &mut |device| {
                    let uuid = device.identity.uuid.clone();
                    lost |= answers.send(Answer::Device(Box::new(device))).is_err();
                    if lost {
                        locked(set_aside).remove(&uuid);
                    }
                });
                if lost || answers.send(Answer::Done(done)).is_err() {
                    if let Some(device) = progress.device() {
                        locked(set_aside).remove(&device.uuid);
                    }
                    return;
                }
            }
        }
    }
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
            Err(failed) if reading.devices.is_empty() => reading.failed = Some(failed),
            Err(_) => {}
        }
        for identity in locked(&self.set_aside).values() {
            let boot_ms = self.clock.boot_ms();
            reading.devices.push(DeviceReading {
                identity: identity.clone(),
                boot_ms,
                outcome: Err(Reason::CallHung),
            });
        }
        reading
    }

    fn release(&mut self) {
        if let Some(worker) = &self.worker {
            let _ = worker.requests.send(Request::Release);
        }
    }
}
