//! The tick: which devices to ask for what, readings handed to their tracks, closed slices collected.
//!
//! Pure but for the source and the owner look-up that it is handed: it has no clock, no thread and no file.

use crate::absence::Before;
use crate::config::{BusySource, Cadence};
use crate::owner::OwnerLookup;
use crate::reading::{CallStats, DeviceReading, NodeReading, Plan, Source};
use crate::slice::Closed;
use crate::track::Track;
use schema::wire::Reason;

/// The state of a node's sampling.
pub struct Sampler {
    cadence: Cadence,
    busy: BusySource,
    tracks: Vec<Track>,
    /// What an earlier collector left to go on from.
    before: Before,
    next_list_ms: i64,
    slow_skipped: u32,
    /// Ticks so far.
    pub ticks: u64,
    /// What calls cost and how they failed, summed.
    pub stats: CallStats,
    /// The last reading, for gauges.
    pub last: NodeReading,
}

impl Sampler {
    /// A sampler that has seen nothing.
    pub fn new(cadence: Cadence, busy: BusySource) -> Self {
        Self {
            cadence,
            busy,
            tracks: Vec::new(),
            before: Before::default(),
            next_list_ms: i64::MIN,
            slow_skipped: 0,
            ticks: 0,
            stats: CallStats::default(),
            last: NodeReading::default(),
        }
    }

    /// Goes on where an earlier collector's windows ended: the time in between is a gap, up to a reboot in it known to
    /// be downtime.
    pub fn resume_from(&mut self, before: Before) {
        self.before = before;
    }

    /// The devices, in the order in which they were first seen.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Reads the node once. `at` turns an instant of the boot-time clock into UTC; `now_ms` is the present by it.
    pub fn tick(
        &mut self,
        now_ms: i64,
        at: &dyn Fn(i64) -> i64,
        source: &mut dyn Source,
        owners: &mut dyn OwnerLookup,
    ) {
        let due = now_ms >= self.next_list_ms || self.tracks.is_empty();
        let processes = due || self.tracks.iter().any(Track::wants_list);
        if due {
            self.next_list_ms =
                (now_ms.div_euclid(self.cadence.processes_ms) + 1) * self.cadence.processes_ms;
        }
        // Slow gauges are asked when no list is, or when they were left out once.
        let slow_gauges = !processes || self.slow_skipped > 0 || self.ticks == 0;
        self.slow_skipped = if slow_gauges { 0 } else { self.slow_skipped + 1 };
        let mut reading = source.read(&Plan { processes, slow_gauges, budget_us: self.cadence.budget_us });
        self.ticks += 1;
        self.stats.add(&reading.stats);
        self.apply(&reading, now_ms, at, owners);
        self.keep_slow_gauges(&mut reading);
        self.last = reading;
        if processes {
            let pids: Vec<u32> = self.tracks.iter().flat_map(Track::pids).collect();
            owners.keep_only(&pids);
        }
    }

    fn apply(
        &mut self,
        reading: &NodeReading,
        now_ms: i64,
        at: &dyn Fn(i64) -> i64,
        owners: &mut dyn OwnerLookup,
    ) {
        for device in &reading.devices {
            let read_ms = at(device.boot_ms);
            let known = self.tracks.iter().position(|track| track.identity.uuid == device.identity.uuid);
            let track = match known {
                Some(known) => &mut self.tracks[known],
                None => {
                    self.tracks.push(self.first_seen(device, read_ms));
                    self.tracks.last_mut().expect("one was just pushed")
                }
            };
            track.report(read_ms, &device.xids);
            match &device.outcome {
                Ok(gauges) => track.good(read_ms, gauges, owners),
                Err(reason) => track.bad(read_ms, *reason),
            }
        }
        // A device that the driver no longer counts is lost; where nothing could be read, the reason is the node's.
        let missing = reading.failed.as_ref().map_or(Reason::GpuLost, |(reason, _)| *reason);
        for track in &mut self.tracks {
            if !reading.devices.iter().any(|device| device.identity.uuid == track.identity.uuid) {
                track.bad(now_ms, missing);
            }
        }
    }

    fn first_seen(&self, device: &DeviceReading, read_ms: i64) -> Track {
        let identity = device.identity.clone();
        match self.before.gap_start_ms(&identity.uuid, read_ms) {
            None => Track::new(identity, self.cadence, self.busy, read_ms),
            Some(since_ms) => {
                let mig = device.outcome.as_ref().ok().and_then(|gauges| gauges.mig.as_deref());
                let rebooted_ms = self.before.rebooted_ms.map(|at_ms| at_ms.min(read_ms));
                Track::resumed(identity, self.cadence, self.busy, since_ms, rebooted_ms, mig)
            }
        }
    }

    /// Temperature, clocks and links aren't asked at every reading: the last answer stands until the next.
    fn keep_slow_gauges(&self, reading: &mut NodeReading) {
        for device in &mut reading.devices {
            let before = self.last.devices.iter().find(|d| d.identity.uuid == device.identity.uuid);
            if let (Ok(now), Some(Ok(before))) = (&mut device.outcome, before.map(|d| &d.outcome)) {
                now.temperature_c = now.temperature_c.or(before.temperature_c);
                now.sm_clock_mhz = now.sm_clock_mhz.or(before.sm_clock_mhz);
                now.memory_clock_mhz = now.memory_clock_mhz.or(before.memory_clock_mhz);
                now.links = now.links.or(before.links);
            }
        }
    }

    /// NVML was let go of on request: no reading, and the reason is known.
    pub fn released(&mut self, now_ms: i64) {
        self.tracks.iter_mut().for_each(|track| track.bad(now_ms, Reason::Released));
        self.last = NodeReading {
            failed: Some((Reason::Released, "NVML was released on request".into())),
            ..NodeReading::default()
        };
    }

    /// The wall clock was stepped ahead to `to_ms`.
    pub fn stepped(&mut self, to_ms: i64) {
        self.tracks.iter_mut().for_each(|track| track.skip_to(to_ms, Reason::ClockStep));
    }

    /// Closed slices, once every device is settled up to the last window's end (or is late by three lists): the rows
    /// of a window travel in one batch.
    pub fn take_windows(&mut self, now_ms: i64) -> Vec<Closed> {
        let boundary = now_ms.div_euclid(self.cadence.window_ms) * self.cadence.window_ms;
        let late = now_ms - boundary > 3 * self.cadence.processes_ms;
        if !late && self.tracks.iter().any(|track| track.settled_ms() < boundary) {
            return Vec::new();
        }
        self.tracks.iter_mut().flat_map(Track::take_closed).collect()
    }

    /// Everything that is known, windows cut short included: at the end of a run.
    pub fn finish(&mut self) -> Vec<Closed> {
        self.tracks.iter_mut().for_each(Track::finish);
        self.tracks.iter_mut().flat_map(Track::take_closed).collect()
    }
}
