//! A session with the driver, from init to shutdown, and the source that starts one anew when the driver comes back.

use super::call::{Calls, Code, Progress, nvml};
use super::events::Events;
use super::identity;
use super::processes::{self, Lists};
use super::slot::{Shared, Slot};
use crate::clock::Clock;
use crate::reading::{CallStats, DeviceReading, Field, Identity, NodeReading, Plan, Source};
use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::nvmlDevice_t;
use schema::wire::Reason;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

/// First wait before the driver is tried again; it doubles up to the longest.
const RETRY_MS_MIN: i64 = 1_000;
const RETRY_MS_MAX: i64 = 60_000;

/// Takes away an environment variable that would have NVML show this process alone. Call it before any thread starts.
pub fn forget_mps_view() {
    // SAFETY: no other thread runs yet, so none reads the environment meanwhile; the caller sees to it.
    unsafe { std::env::remove_var("NVML_MPS_DEVICE_ENUMERATION") }
}

/// Everything between init and shutdown.
struct Session {
    slots: Vec<Slot>,
    driver_version: String,
    lists_unsafe: bool,
    lists: Lists,
    events: Events,
    calls: Calls,
}

impl Drop for Session {
    fn drop(&mut self) {
        let Self { slots, events, calls, .. } = self;
        slots.iter_mut().for_each(|slot| slot.clear(calls));
        events.free(calls);
    }
}

impl Session {
    fn new(nvml: Nvml, progress: Arc<Progress>, epoch: Instant) -> Self {
        let calls = Calls::new(nvml, progress, epoch);
        let driver_version = identity::driver_version(&calls);
        Self {
            slots: Vec::new(),
            lists_unsafe: processes::list_is_unsafe(&calls, &driver_version),
            driver_version,
            lists: Lists::new(),
            events: Events::new(&calls),
            calls,
        }
    }

    /// Finds devices that have no slot yet, and takes lost ones' handles anew, except those that `skip` names.
    fn find_devices(&mut self, now_us: u64, skip: &dyn Fn(u32) -> bool) -> Field<()> {
        let mut count = 0;
        nvml!(&self.calls, nvmlDeviceGetCount_v2(&mut count)).map_err(Code::reason)?;
        for index in (0..count).filter(|index| !skip(*index)) {
            let known = self.slots.iter().position(|slot| slot.identity.index == index);
            if known.is_some_and(|at| !self.slots[at].lost) {
                continue;
            }
            let identity = known.map(|at| self.slots[at].identity.clone());
            self.calls.progress.at_device(Some((index, identity)));
            let found = self.handle(index).and_then(|handle| {
                identity::read(&self.calls, handle, index, &self.driver_version)
                    .map(|identity| (handle, identity))
            });
            let Ok((handle, identity)) = found else { continue };
            let slot = Slot::new(&self.calls, handle, Arc::new(identity), now_us);
            self.events.register(&self.calls, handle);
            match known {
                Some(at) => self.slots[at] = slot,
                None => self.slots.push(slot),
            }
        }
        self.calls.progress.at_device(None);
        Ok(())
    }

    fn handle(&self, index: u32) -> Field<nvmlDevice_t> {
        let mut handle = std::ptr::null_mut();
        nvml!(&self.calls, nvmlDeviceGetHandleByIndex_v2(index, &mut handle)).map_err(Code::reason)?;
        Ok(handle)
    }
}

/// Readings from the driver, in the thread that calls.
pub struct NvmlSource {
    library: Option<OsString>,
    clock: Arc<dyn Clock>,
    session: Option<Session>,
    retry_at_ms: i64,
    retry_ms: i64,
    last_failure: (Reason, String),
    progress: Arc<Progress>,
    epoch: Instant,
}

// SAFETY: NVML may be called from any thread and its handles aren't bound to one; the source is owned by one thread at a
// time, which is all that its samples and event set ask for.
unsafe impl Send for NvmlSource {}

impl NvmlSource {
    /// A source that loads `library`, or the driver's own (`libnvidia-ml.so.1`) where none is given. Nothing is loaded
    /// before the first reading, and no failure is final.
    pub fn new(library: Option<OsString>, clock: Arc<dyn Clock>) -> Self {
        Self {
            library,
            clock,
            session: None,
            retry_at_ms: i64::MIN,
            retry_ms: RETRY_MS_MIN,
            last_failure: (Reason::DriverUnavailable, String::new()),
            progress: Arc::default(),
            epoch: Instant::now(),
        }
    }

    pub(super) fn progress(&self) -> (Arc<Progress>, Instant) {
        (self.progress.clone(), self.epoch)
    }

    /// Reads each device and hands it over at once, except those whose index `skip` names.
    pub(super) fn read_each(
        &mut self,
        plan: &Plan,
        skip: &dyn Fn(u32) -> bool,
        each: &mut dyn FnMut(DeviceReading),
    ) -> Result<CallStats, (Reason, String)> {
        self.ensure_session()?;
        let session = self.session.as_mut().expect("a session was just ensured");
        session.calls.stats.take();
        let now_us = u64::try_from(self.clock.wall_ms()).unwrap_or(0) * 1000;
        if let Err(reason) = session.find_devices(now_us, skip) {
            return Err(self.end_session(reason));
        }
        let xids = session.events.drain(&session.calls);
        for slot in session.slots.iter_mut().filter(|slot| !skip(slot.identity.index)) {
            let own: Vec<u64> =
                xids.iter().filter(|(handle, _)| *handle == slot.handle).map(|(_, xid)| *xid).collect();
            let outcome = if slot.lost {
                Err(Reason::GpuLost)
            } else {
                self.progress.at_device(Some((slot.identity.index, Some(slot.identity.clone()))));
                let over_budget = session.calls.stats.borrow().micros > plan.budget_us;
                let shared = Shared {
                    calls: &session.calls,
                    lists: &mut session.lists,
                    lists_unsafe: session.lists_unsafe,
                    over_budget,
                };
                slot.read(shared, plan)
            };
            let (identity, boot_ms) = (slot.identity.clone(), self.clock.boot_ms());
            each(DeviceReading { identity, boot_ms, xids: own, outcome });
        }
        self.progress.at_device(None);
        let stats = session.calls.stats.take();
        if let Some(code) = session.calls.lost_driver() {
            let failure = self.end_session(Code(code).reason());
            tracing::warn!(code, "the driver went away; {}", failure.1);
        }
        Ok(stats)
    }

    fn ensure_session(&mut self) -> Result<(), (Reason, String)> {
        if self.session.is_some() {
            return Ok(());
        }
        let now = self.clock.boot_ms();
        if now < self.retry_at_ms {
            return Err(self.last_failure.clone());
        }
        let mut builder = Nvml::builder();
        if let Some(library) = &self.library {
            builder.lib_path(library);
        }
        match self.progress.during(self.epoch, || builder.init()) {
            Ok(nvml) => {
                self.session = Some(Session::new(nvml, self.progress.clone(), self.epoch));
                self.retry_ms = RETRY_MS_MIN;
                Ok(())
            }
            Err(error) => {
                self.retry_at_ms = now + self.retry_ms;
                self.retry_ms = (2 * self.retry_ms).min(RETRY_MS_MAX);
                self.last_failure =
                    (Reason::DriverUnavailable, format!("NVML could not be initialised: {error}"));
                Err(self.last_failure.clone())
            }
        }
    }

    /// Gives everything back to the library, and the library itself.
    fn close(&mut self) {
        let session = self.session.take();
        self.progress.during(self.epoch, || drop(session));
    }

    fn end_session(&mut self, reason: Reason) -> (Reason, String) {
        self.close();
        self.retry_at_ms = i64::MIN;
        self.last_failure = (reason, "the driver went away and is tried again".to_owned());
        self.last_failure.clone()
    }

    /// Identities of the devices found so far.
    pub fn identities(&self) -> Vec<Arc<Identity>> {
        self.session.iter().flat_map(|s| s.slots.iter().map(|slot| slot.identity.clone())).collect()
    }
}

impl Source for NvmlSource {
    fn read(&mut self, plan: &Plan) -> NodeReading {
        let mut devices = Vec::new();
        match self.read_each(plan, &|_| false, &mut |device| devices.push(device)) {
            Ok(stats) => NodeReading { devices, failed: None, stats },
            Err(failed) => NodeReading { devices, failed: Some(failed), stats: CallStats::default() },
        }
    }

    fn release(&mut self) -> bool {
        self.close();
        true
    }
}
