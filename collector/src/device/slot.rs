//! One device of a session: its handle, what is kept from tick to tick, and the reading of one tick.

use super::call::{Calls, Code, Unsupported, nvml};
use super::gpm::{Pairs, Target};
use super::identity;
use super::links;
use super::mig::Layout;
use super::processes::Lists;
use super::utilization::{self, Samples};
use super::vgpu::{self, Vgpus};
use crate::reading::{Field, Gauges, Identity, Plan};
use nvml_wrapper_sys::bindings::nvmlDevice_t;
use schema::wire::Reason;
use std::sync::Arc;

/// NVML's numbers of the SM clock and the memory clock.
const CLOCKS: [u32; 2] = [1, 2];

/// A device by its index.
pub(super) struct Slot {
    pub handle: nvmlDevice_t,
    pub identity: Arc<Identity>,
    /// It said that it is lost; the handle must be taken anew.
    pub lost: bool,
    unsupported: Unsupported,
    samples: Samples,
    layout: Layout,
    pairs: Pairs,
    vgpus: Option<Vgpus>,
}

/// What every device of a session shares.
pub(super) struct Shared<'a> {
    pub calls: &'a Calls,
    pub lists: &'a mut Lists,
    pub lists_unsafe: bool,
    /// The tick's budget is used up: process lists wait.
    pub over_budget: bool,
}

impl Slot {
    pub fn new(calls: &Calls, handle: nvmlDevice_t, identity: Arc<Identity>, now_us: u64) -> Self {
        Self {
            handle,
            identity,
            lost: false,
            unsupported: Unsupported::default(),
            samples: Samples::new(now_us),
            layout: Layout::default(),
            pairs: Pairs::new(),
            vgpus: vgpu::is_host(calls, handle).then(|| Vgpus::new(now_us)),
        }
    }

    /// Gives everything made for this device back to the library.
    pub fn clear(&mut self, calls: &Calls) {
        self.pairs.clear(calls);
        self.layout.forget();
        self.unsupported.forget();
    }

    /// Reads the device. A call that says it is lost fails the whole reading: half of one would look like idleness.
    pub fn read(&mut self, shared: Shared<'_>, plan: &Plan) -> Field<Box<Gauges>> {
        let calls = shared.calls;
        calls.take_lost_device();
        let gauges = self.gauges(shared, plan);
        if let Some(code) = calls.lost_driver() {
            return Err(Code(code).reason());
        }
        if calls.take_lost_device() {
            self.lost = true;
            self.clear(calls);
            return Err(Reason::GpuLost);
        }
        gauges
    }

    fn gauges(&mut self, shared: Shared<'_>, plan: &Plan) -> Field<Box<Gauges>> {
        let Shared { calls, lists, lists_unsafe, over_budget } = shared;
        let handle = self.handle;
        let mig_on = match self.unsupported.ask("mig_mode", || identity::mig_mode(calls, handle)) {
            Ok(on) => on,
            Err(Reason::NotSupported) => false,
            Err(reason) => return Err(reason),
        };
        let mig = if mig_on {
            let (instances, changed) = self.layout.read(calls, handle, &mut self.pairs, self.identity.gpm)?;
            if changed {
                self.unsupported.forget();
            }
            Some(instances)
        } else {
            if self.layout.forget() {
                self.pairs.clear(calls);
                self.unsupported.forget();
            }
            None
        };
        let vgpus = match self.vgpus.as_mut() {
            Some(vgpus) => Some(vgpus.list(calls, handle).map_err(Code::reason)?),
            None => None,
        };
        let plain = mig.is_none();
        let busy_samples = self.when(plain, "samples", |s| s.samples.device(calls, handle));
        let process_samples = self.when(plain, "process_samples", |s| match s.vgpus.as_mut() {
            Some(vgpus) => vgpus.samples(calls, handle),
            None => s.samples.processes(calls, handle),
        });
        // Where samples came, the last of them is the gauge, and one call is saved except with the slow ones.
        let utilization = match &busy_samples {
            Ok(samples) if !plan.slow_gauges && !samples.is_empty() => {
                Ok((samples[samples.len() - 1].percent, u32::MAX))
            }
            _ => self.when(plain, "utilization", |_| utilization::rates(calls, handle)),
        };
        let gpm = if !plain {
            Err(Reason::NotSupported)
        } else if self.identity.gpm {
            self.pairs.read(calls, handle, Target::Handle, None)
        } else {
            Err(Reason::NotSupported)
        };
        let processes = match (plan.processes, over_budget) {
            (false, _) => None,
            (true, true) => {
                calls.stats.borrow_mut().deferred_lists += 1;
                None
            }
            (true, false) if self.vgpus.is_some() => Some(Ok(Vec::new())),
            (true, false) => Some(lists.union(calls, handle, lists_unsafe)),
        };
        Ok(Box::new(Gauges {
            utilization,
            busy_samples,
            process_samples,
            processes,
            vgpus,
            memory: self.unsupported.ask("memory", || identity::memory(calls, handle)),
            energy_mj: self.unsupported.ask("energy", || {
                let mut energy = 0;
                nvml!(calls, nvmlDeviceGetTotalEnergyConsumption(handle, &mut energy)).map(|()| energy)
            }),
            power_mw: self.unsupported.ask("power", || {
                let mut power = 0;
                nvml!(calls, nvmlDeviceGetPowerUsage(handle, &mut power)).map(|()| power)
            }),
            temperature_c: self.slow(plan, "temperature", || {
                let mut celsius = 0;
                nvml!(calls, nvmlDeviceGetTemperature(handle, 0, &mut celsius)).map(|()| celsius)
            }),
            sm_clock_mhz: self.slow(plan, "sm_clock", || clock(calls, handle, CLOCKS[0])),
            memory_clock_mhz: self.slow(plan, "memory_clock", || clock(calls, handle, CLOCKS[1])),
            links: self.slow(plan, "links", || links::read(calls, handle)),
            gpm,
            mig,
        }))
    }

    /// Asks what only a device outside MIG can tell.
    fn when<T>(
        &mut self,
        plain: bool,
        what: &'static str,
        ask: impl FnOnce(&mut Self) -> Result<T, Code>,
    ) -> Field<T> {
        if !plain {
            return Err(Reason::NotSupported);
        }
        let mut unsupported = std::mem::take(&mut self.unsupported);
        let answer = unsupported.ask(what, || ask(self));
        self.unsupported = unsupported;
        answer
    }

    fn slow<T>(
        &mut self,
        plan: &Plan,
        what: &'static str,
        ask: impl FnOnce() -> Result<T, Code>,
    ) -> Option<T> {
        if plan.slow_gauges { self.unsupported.ask(what, ask).ok() } else { None }
    }
}

fn clock(calls: &Calls, handle: nvmlDevice_t, which: u32) -> Result<u32, Code> {
    let mut mhz = 0;
    nvml!(calls, nvmlDeviceGetClockInfo(handle, which, &mut mhz)).map(|()| mhz)
}
