//! One device over time: readings in, closed slices out, at any cadence.
//!
//! Between two process lists nobody knows who came and went until the second is read; so time is settled from list to
//! list, with what the gauges said in between. Rules of the edges:
//! - a process that is on both lists was there throughout;
//! - one that is new came when the kernel says it started, or, where it started before the last list, at the middle of
//!   the interval (it opened the device somewhere in it);
//! - one that is gone left when it was last seen to be busy, or, where it wasn't, at the middle between the last sign
//!   of life and the list that lacks it, but no later than the first newcomer in its place. The error of an edge is less
//!   than one sample period and has no sign.
//!
//! A reading that fails ends observed time at the last good one. Nothing is carried over a gap.

mod residency;
mod shape;
mod span;
mod stretch;

use crate::attribution::Shape;
use crate::config::{BusySource, Cadence};
use crate::owner::OwnerLookup;
use crate::reading::{Field, Gauges, Identity, Instance};
use crate::slice::{self, Carry, Closed, Slice, State};
use residency::{Resident, Stay};
use schema::units::{HOUR_MS, QUARTER_MS};
use schema::wire::{Reason, XIDS_MAX, Xid};
use shape::{boundaries, shape};
use span::Span;
use std::sync::Arc;

/// A reading later than this many periods after the last says nothing of the time in between.
const GAP_PERIODS_X10: i64 = 25;

/// A device.
pub struct Track {
    /// Who it is.
    pub identity: Arc<Identity>,
    settings: Cadence,
    busy_source: BusySource,
    shape: Arc<Shape>,
    /// Everything before this is in slices, Unix milliseconds.
    settled_ms: i64,
    /// The last good reading since the device was last taken up; `None` while it fails.
    last_good_ms: Option<i64>,
    failing: Reason,
    residents: Vec<Resident>,
    spans: Vec<Span>,
    last_energy_mj: Option<u64>,
    /// The least power that it drew while known not to be busy, milliwatts.
    idle_mw: Option<u64>,
    open: Option<Slice>,
    carry: Carry,
    closed: Vec<Closed>,
    /// XIDs that no window carries yet.
    xids: Vec<Xid>,
    /// Samples' timestamps up to which a process's use was counted.
    sampled_ms: Vec<(u32, i64)>,
}

impl Track {
    /// A device first seen at `now_ms`.
    pub fn new(identity: Arc<Identity>, settings: Cadence, busy_source: BusySource, now_ms: i64) -> Self {
        Self {
            shape: Arc::new(shape(&identity, None)),
            identity,
            settings,
            busy_source,
            settled_ms: now_ms,
            last_good_ms: None,
            failing: Reason::Unspecified,
            residents: Vec::new(),
            spans: Vec::new(),
            last_energy_mj: None,
            idle_mw: None,
            open: None,
            carry: Carry::default(),
            closed: Vec::new(),
            xids: Vec::new(),
            sampled_ms: Vec::new(),
        }
    }

    /// A device of which an earlier collector's windows reach to `since_ms`: the time from there on is a gap. Up to
    /// `rebooted_ms`, where there is one, the node was down. `mig` is what the first reading says of its instances.
    pub fn resumed(
        identity: Arc<Identity>,
        settings: Cadence,
        busy_source: BusySource,
        since_ms: i64,
        rebooted_ms: Option<i64>,
        mig: Option<&[Instance]>,
    ) -> Self {
        let shape = Arc::new(shape(&identity, mig));
        let new = Self::new(identity, settings, busy_source, since_ms);
        let mut track = Self { shape, failing: Reason::CollectorStopped, ..new };
        if let Some(at_ms) = rebooted_ms {
            track.hole(at_ms, State::Unavailable(Reason::NodeFailed));
        }
        track
    }

    /// Whether it needs a process list at the next reading to be taken up again.
    pub fn wants_list(&self) -> bool {
        self.last_good_ms.is_none()
    }

    /// Up to when its time is in slices.
    pub fn settled_ms(&self) -> i64 {
        self.settled_ms
    }

    /// Why it isn't observed now; `None` while it is.
    pub fn failing(&self) -> Option<Reason> {
        self.last_good_ms.is_none().then_some(self.failing)
    }

    /// Owners on it at the last process list.
    pub fn owners(&self) -> impl Iterator<Item = &Resident> {
        self.residents.iter()
    }

    /// PIDs on it at the last process list.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.residents.iter().map(|resident| resident.pid)
    }

    /// Takes what was closed since the last call.
    pub fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// The driver reported these XIDs; they travel with the next window. Of a storm the first are kept: what follows is its
    /// echo, and all are counted by `slicemeter_gpu_xid_errors_total`.
    pub fn report(&mut self, at_ms: i64, xids: &[u64]) {
        let left = XIDS_MAX - self.xids.len();
        let numbers = xids.iter().filter_map(|number| u32::try_from(*number).ok());
        self.xids.extend(numbers.take(left).map(|number| Xid { at_ms, number }));
    }

    /// The device answered.
    pub fn good(&mut self, now_ms: i64, gauges: &Gauges, owners: &mut dyn OwnerLookup) {
        let now_shape = shape(&self.identity, gauges.mig.as_deref());
        let Some(last_good) = self.last_good_ms else {
            return self.begin(now_ms, now_shape, gauges, owners);
        };
        if now_ms <= last_good {
            // The wall clock went back: this time is tiled already.
            return;
        }
        if now_ms - last_good > self.settings.gauges_ms * GAP_PERIODS_X10 / 10 {
            self.bad(now_ms, Reason::CollectorStopped);
            return self.begin(now_ms, now_shape, gauges, owners);
        }
        if is_uncut(gauges) {
            return self.bad(now_ms, Reason::Reconfiguring);
        }
        if *self.shape != now_shape {
            self.settle_known(last_good);
            self.hole(now_ms, State::Unavailable(Reason::Reconfiguring));
            self.last_good_ms = None;
            self.failing = Reason::Reconfiguring;
            self.carry.clear();
            return self.begin(now_ms, now_shape, gauges, owners);
        }
        let mut span =
            Span::new(last_good, now_ms, gauges, self.busy_source, &self.residents, &mut self.sampled_ms);
        self.learn_idle(&span, gauges);
        span.energy = self.energy_growth(gauges);
        self.spans.push(span);
        self.last_good_ms = Some(now_ms);
        match self.list(gauges, owners) {
            Some(Ok(list)) => self.settle(now_ms, list),
            // Without lists nobody can say who holds it: that is not observed, and not the same as free.
            Some(Err(reason)) if is_lasting(reason) => self.bad(now_ms, reason),
            Some(Err(_)) | None
                if now_ms - self.settled_ms > self.settings.processes_ms * GAP_PERIODS_X10 / 10 =>
            {
                self.spans.clear();
                self.hole(now_ms, State::Unobserved(Reason::NvmlError));
                (self.last_good_ms, self.failing) = (None, Reason::NvmlError);
            }
            Some(Err(_)) | None => {}
        }
    }

    /// The device didn't answer, for this reason.
    pub fn bad(&mut self, now_ms: i64, reason: Reason) {
        if let Some(last_good) = self.last_good_ms.take() {
            self.settle_known(last_good);
            // Up to now nobody can say what a lost device did; from here on it is known to be lost.
            let state = match reason {
                Reason::Reconfiguring => State::Unavailable(reason),
                reason => State::Unobserved(reason),
            };
            self.hole(now_ms, state);
            self.residents.clear();
        } else {
            let state = hole_state(self.failing);
            self.hole(now_ms, state);
        }
        self.failing = reason;
    }

    /// Settles and closes everything that is known, at the end of a run.
    pub fn finish(&mut self) {
        if let Some(last_good) = self.last_good_ms {
            self.settle_known(last_good);
        }
        self.close_open();
    }

    /// Lets a stretch pass that the clock stepped over.
    pub fn skip_to(&mut self, to_ms: i64, reason: Reason) {
        if let Some(last_good) = self.last_good_ms.take() {
            self.settle_known(last_good);
        }
        self.hole(to_ms, State::Unobserved(reason));
        self.failing = reason;
    }

    /// Takes the device up at this instant: a process list is needed, and holders are known from here on.
    fn begin(&mut self, now_ms: i64, shape: Shape, gauges: &Gauges, owners: &mut dyn OwnerLookup) {
        if now_ms < self.settled_ms {
            return;
        }
        let state = hole_state(self.failing);
        self.hole(now_ms, state);
        if is_uncut(gauges) {
            self.failing = Reason::Reconfiguring;
            return;
        }
        if let (Some(growth), Some(open)) = (self.energy_growth(gauges), self.open.as_mut()) {
            // What it drew during the gap is known though nobody knows whose it is.
            open.energy_mj = Some(open.energy_mj.unwrap_or(0) + growth.0);
            open.energy_reset |= growth.1;
        }
        let residents = match self.list(gauges, owners) {
            Some(Ok(list)) => list,
            Some(Err(reason)) => {
                self.failing = reason;
                return;
            }
            None => return,
        };
        self.residents = residents;
        self.shape = Arc::new(shape);
        self.spans.clear();
        self.sampled_ms.clear();
        self.last_good_ms = Some(now_ms);
        self.failing = Reason::Unspecified;
    }

    fn list(&self, gauges: &Gauges, owners: &mut dyn OwnerLookup) -> Option<Field<Vec<Resident>>> {
        residency::list(gauges, &self.identity.uuid, &self.shape_of(gauges), owners)
    }

    fn shape_of(&self, gauges: &Gauges) -> Arc<Shape> {
        let now = shape(&self.identity, gauges.mig.as_deref());
        if *self.shape == now { self.shape.clone() } else { Arc::new(now) }
    }

    fn energy_growth(&mut self, gauges: &Gauges) -> Option<(u64, bool)> {
        let now = gauges.energy_mj.ok()?;
        let last = self.last_energy_mj.replace(now)?;
        // A counter that fell was reset by a reload of the driver and counts from zero.
        Some(if now >= last { (now - last, false) } else { (now, true) })
    }

    fn learn_idle(&mut self, span: &Span, gauges: &Gauges) {
        if span.is_idle()
            && let Ok(power) = gauges.power_mw
        {
            let power = u64::from(power);
            self.idle_mw = Some(self.idle_mw.map_or(power, |known| known.min(power)));
        }
    }

    fn settle_known(&mut self, to_ms: i64) {
        let stays = residency::unchanged(&self.residents, self.settled_ms, to_ms);
        self.attribute(to_ms, &stays);
    }

    fn settle(&mut self, to_ms: i64, list: Vec<Resident>) {
        let stays = residency::stays(&self.residents, &list, self.settled_ms, to_ms, &self.spans);
        self.attribute(to_ms, &stays);
        self.residents = list;
    }

    /// Turns `[settled, to)` into stretches in which nothing changes, and adds them to slices.
    fn attribute(&mut self, to_ms: i64, stays: &[Stay]) {
        let from_ms = self.settled_ms;
        if to_ms <= from_ms {
            self.spans.clear();
            return;
        }
        let mut cuts: Vec<i64> = stays.iter().flat_map(|stay| [stay.start_ms, stay.end_ms]).collect();
        cuts.extend(self.spans.iter().flat_map(|span| [span.start_ms, span.end_ms]));
        cuts.extend(boundaries(from_ms, to_ms, self.settings.window_ms));
        let spans = std::mem::take(&mut self.spans);
        for piece in schema::window::Window::new(from_ms, to_ms).cut_at(&cuts) {
            let span =
                spans.iter().find(|span| span.start_ms <= piece.start_ms && piece.end_ms <= span.end_ms);
            let Some(span) = span else { continue };
            let here: Vec<&Stay> = stays
                .iter()
                .filter(|stay| stay.start_ms <= piece.start_ms && piece.end_ms <= stay.end_ms)
                .collect();
            let slice = stretch::observed(&self.shape, piece.start_ms, piece.end_ms, span, &here);
            self.push(slice);
        }
        self.settled_ms = to_ms;
    }

    /// Lets `[settled, to)` pass without observation.
    fn hole(&mut self, to_ms: i64, state: State) {
        self.spans.clear();
        let from_ms = self.settled_ms;
        if to_ms <= from_ms {
            return;
        }
        // Nothing changes in it: a long one needs no finer cut than the ledger's.
        let step_ms = if to_ms - from_ms > HOUR_MS { QUARTER_MS } else { self.settings.window_ms };
        for piece in schema::window::Window::new(from_ms, to_ms).cut_at(&boundaries(from_ms, to_ms, step_ms))
        {
            self.push(stretch::unseen(&self.shape, piece.start_ms, piece.end_ms, state));
        }
        self.settled_ms = to_ms;
    }

    fn push(&mut self, next: Slice) {
        let at_boundary = next.start_ms.rem_euclid(self.settings.window_ms) == 0;
        match self.open.as_mut() {
            Some(open) if !at_boundary && open.continues_as(&next) => open.add(next),
            _ => {
                self.close_open();
                self.open = Some(next);
            }
        }
        if self.open.as_ref().is_some_and(|open| {
            open.end_ms.rem_euclid(self.settings.window_ms) == 0 && open.state == State::Observed
        }) {
            self.close_open();
        }
    }

    fn close_open(&mut self) {
        if let Some(open) = self.open.take() {
            let mut closed = slice::close(&open, &self.identity, self.idle_mw, &mut self.carry);
            closed.window.xids = std::mem::take(&mut self.xids);
            self.closed.push(closed);
        }
    }
}

/// Under MIG and without an instance nobody can use the device: it is being cut anew.
fn is_uncut(gauges: &Gauges) -> bool {
    gauges.mig.as_ref().is_some_and(Vec::is_empty)
}

/// Reasons that will hold at the next reading too.
fn is_lasting(reason: Reason) -> bool {
    matches!(reason, Reason::NotSupported | Reason::NoPermission | Reason::ProcessListUnsafe)
}

fn hole_state(failing: Reason) -> State {
    match failing {
        Reason::GpuLost | Reason::Reconfiguring => State::Unavailable(failing),
        Reason::Unspecified => State::Unobserved(Reason::NvmlError),
        reason => State::Unobserved(reason),
    }
}
