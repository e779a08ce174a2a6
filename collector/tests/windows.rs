//! Windows tile a device's time exactly, whatever happens to the device, its layout and the clock.

use collector::absence::Before;
use collector::batch::Maker;
use collector::clock::ManualClock;
use collector::config::{BusySource, Sample};
use collector::node::Engine;
use collector::owner::{OwnerLookup, OwnerRecord, ProcessOwner};
use collector::reading::{
    BusySample, DeviceReading, Gauges, Identity, Instance, Memory, NodeReading, Plan, Process, Source,
};
use schema::id::Incarnation;
use schema::owner::{Owner, OwnerKind};
use schema::wire::{Batch, DeviceWindow, Reason};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An hour's start.
const T0: i64 = 1_788_220_800_000;

/// One GPU that says what it is told.
struct Scripted {
    clock: ManualClock,
    failing: Option<Reason>,
    pids: Vec<u32>,
    percent: u32,
    energy_mj: u64,
    layout: Option<Vec<u32>>,
}

impl Scripted {
    fn new(clock: &ManualClock) -> Self {
        Self { clock: clock.clone(), failing: None, pids: vec![1], percent: 50, energy_mj: 0, layout: None }
    }

    fn gauges(&self) -> Gauges {
        use collector::clock::Clock;
        let now_us = self.clock.wall_ms() * 1000;
        let memory = Memory { total_bytes: 1000, reserved_bytes: 0, free_bytes: 900, used_bytes: 100 };
        let process = |pid: &u32| Process {
            pid: *pid,
            memory_bytes: Some(10),
            gpu_instance: self.layout.as_ref().map(|ids| ids[0]),
            compute_instance: self.layout.as_ref().map(|_| 0),
            mps_client: false,
        };
        let instance = |gi: &u32| Instance {
            gpu_instance: *gi,
            compute_instance: 0,
            uuid: format!("MIG-{gi}"),
            profile: "3g.40gb".into(),
            gpu_instance_slices: 3,
            slices: 3,
            multiprocessors: 60,
            memory: Ok(memory),
            gpm: Err(Reason::MigPreHopper),
            own_gpm: None,
            dcgm: None,
        };
        Gauges {
            utilization: Ok((self.percent, 0)),
            busy_samples: Ok((1..=5)
                .map(|n| BusySample { at_us: now_us - (5 - n) * 1_000_000, percent: self.percent })
                .collect()),
            process_samples: Ok(Vec::new()),
            processes: Some(Ok(self.pids.iter().map(process).collect())),
            vgpus: None,
            memory: Ok(memory),
            energy_mj: Ok(self.energy_mj),
            power_mw: Ok(100),
            temperature_c: None,
            sm_clock_mhz: None,
            memory_clock_mhz: None,
            links: None,
            gpm: Err(Reason::NotSupported),
            mig: self.layout.as_ref().map(|ids| ids.iter().map(instance).collect()),
        }
    }
}

impl Source for Scripted {
    fn read(&mut self, _: &Plan) -> NodeReading {
        use collector::clock::Clock;
        let identity = Identity {
            uuid: "GPU-1".into(),
            model: "m".into(),
            index: 0,
            minor: None,
            pci_bus_id: String::new(),
            driver_version: String::new(),
            memory_total_bytes: None,
            mig_slices: Some(7),
            gpm: false,
        };
        let outcome = match self.failing {
            Some(reason) => Err(reason),
            None => Ok(Box::new(self.gauges())),
        };
        self.energy_mj += 500;
        let (identity, boot_ms) = (Arc::new(identity), self.clock.boot_ms());
        let device = DeviceReading { identity, boot_ms, xids: Vec::new(), outcome };
        NodeReading { devices: vec![device], ..NodeReading::default() }
    }
    fn release(&mut self) -> bool {
        true
    }
}

struct Users;

impl OwnerLookup for Users {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let attributes = BTreeMap::from([("uid".to_owned(), pid.to_string())]);
        let owner = OwnerRecord::new(Owner { kind: OwnerKind::User, attributes, evidence: String::new() });
        ProcessOwner { owner, start_ticks: 1, started_ms: None, mps_server: false }
    }
    fn keep_only(&mut self, _: &[u32]) {}
}

struct Story {
    clock: ManualClock,
    engine: Engine,
    source: Scripted,
    batches: Vec<Batch>,
}

impl Story {
    fn begin() -> Self {
        Self::begin_after(Before::default())
    }

    fn begin_after(before: Before) -> Self {
        Self::begin_cut(before, None)
    }

    fn begin_cut(before: Before, layout: Option<Vec<u32>>) -> Self {
        let clock = ManualClock::at(T0);
        let maker = Maker::new("c".into(), "n".into(), "b".into(), Incarnation(1));
        let mut engine =
            Engine::new(Arc::new(clock.clone()), Sample::default().cadence(), BusySource::default(), maker);
        engine.sampler.resume_from(before);
        let source = Scripted { layout, ..Scripted::new(&clock) };
        let mut story = Self { source, clock, engine, batches: Vec::new() };
        story.tick();
        story
    }

    fn tick(&mut self) {
        self.batches.extend(self.engine.tick(&mut self.source, &mut Users, &mut Vec::new()));
    }

    /// Ticks every five seconds for this long.
    fn pass(&mut self, seconds: i64) {
        use collector::clock::Clock;
        for _ in 0..seconds / 5 {
            self.clock.advance_to(self.clock.wall_ms() + 5_000);
            self.tick();
        }
    }

    /// All device windows, after the laws that hold in every story.
    fn end(mut self) -> (Vec<DeviceWindow>, Vec<Batch>) {
        let batches = self.engine.finish(&mut Vec::new());
        self.batches.extend(batches);
        let windows: Vec<DeviceWindow> = self.batches.iter().flat_map(|b| b.device_windows.clone()).collect();
        assert!(
            windows.windows(2).all(|pair| pair[0].end_ms == pair[1].start_ms),
            "windows tile: {windows:#?}"
        );
        let in_one = |length_ms: i64, w: &DeviceWindow| {
            w.start_ms.div_euclid(length_ms) == (w.end_ms - 1).div_euclid(length_ms)
        };
        assert!(windows.iter().all(|w| in_one(900_000, w) && (w.observed_ms == 0 || in_one(60_000, w))));
        let sequences: Vec<u64> = self.batches.iter().map(|b| b.sequence).collect();
        assert!(sequences.iter().copied().eq(0..sequences.len() as u64), "without holes");
        (windows, self.batches)
    }
}

fn observed(windows: &[DeviceWindow]) -> u64 {
    windows.iter().map(|w| w.observed_ms).sum()
}

#[test]
fn a_quiet_quarter_hour_is_fifteen_windows_half_busy() {
    let mut story = Story::begin();
    story.pass(900);
    let (windows, _) = story.end();
    assert_eq!((windows.len(), observed(&windows)), (15, 900_000));
    assert!(windows.iter().all(|w| w.busy_ms == Some(30_000)));
    assert_eq!(windows.iter().map(|w| w.energy_mj.expect("known")).sum::<u64>(), 180 * 500);
}

#[test]
fn a_change_of_owners_cuts_the_window() {
    let mut story = Story::begin();
    story.pass(20);
    story.source.pids = vec![1, 2];
    story.pass(40);
    let (windows, batches) = story.end();
    let cut: Vec<i64> = windows.iter().map(|w| w.end_ms - T0).collect();
    assert_eq!(cut, [22_500, 60_000], "the newcomer came in the middle of the interval");
    let shares: Vec<u32> = batches.iter().flat_map(|b| &b.usage).map(|u| u.share_den).collect();
    assert_eq!(shares, [1, 2, 2]);
}

#[test]
fn a_lost_device_is_unobserved_up_to_its_detection_and_unavailable_after_it() {
    let mut story = Story::begin();
    story.pass(60);
    story.source.failing = Some(Reason::GpuLost);
    story.pass(120);
    story.source.failing = None;
    story.pass(60);
    let (windows, batches) = story.end();
    assert_eq!(observed(&windows), 60_000 + 55_000);
    assert_eq!(windows.iter().map(|w| w.unavailable_ms).sum::<u64>(), 120_000);
    let gaps: Vec<(i64, Reason)> =
        batches.iter().flat_map(|b| &b.gaps).map(|g| (g.end_ms - g.start_ms, g.reason())).collect();
    assert_eq!(gaps, [(5_000, Reason::GpuLost)]);
    assert_eq!(
        windows.iter().map(|w| w.energy_mj.unwrap_or(0)).sum::<u64>(),
        48 * 500,
        "the counter's growth is all there"
    );
}

#[test]
fn a_pause_of_the_collector_is_a_gap_and_nothing_is_carried_over_it() {
    let mut story = Story::begin();
    story.pass(30);
    story.clock.advance_to(T0 + 75_000);
    story.tick();
    story.pass(45);
    let (windows, _) = story.end();
    assert_eq!(observed(&windows), 30_000 + 45_000);
    assert!(windows.iter().filter(|w| w.observed_ms == 0).all(|w| w.busy_ms.is_none()));
}

#[test]
fn a_change_of_mig_is_time_out_of_use_and_the_new_layout_starts_clean() {
    let mut story = Story::begin();
    story.source.layout = None;
    story.pass(60);
    story.source.layout = Some(vec![2, 3]);
    story.pass(60);
    let (windows, batches) = story.end();
    assert_eq!(
        windows.iter().map(|w| (w.unavailable_ms, w.mig)).filter(|w| w.0 > 0).collect::<Vec<_>>(),
        [(5_000, false)]
    );
    let last = windows.last().expect("windows");
    assert_eq!(
        (last.mig, last.stranded_num, last.stranded_den, last.free_unknown_ms),
        (true, 1, 7, 55_000 * 3 / 7)
    );
    let row = *batches.last().expect("batches").usage.last().expect("rows");
    assert_eq!(
        (row.share_num, row.share_den, row.busy_ms, row.unknown_reason()),
        (3, 7, None, Reason::MigPreHopper)
    );
}

#[test]
fn steps_of_the_clock_neither_overlap_nor_lose_time() {
    let mut story = Story::begin();
    story.pass(60);
    story.clock.step_wall(7_000);
    story.pass(53);
    story.clock.step_wall(-30_000);
    story.pass(120);
    let (windows, batches) = story.end();
    let gaps: Vec<Reason> = batches.iter().flat_map(|b| &b.gaps).map(|g| g.reason()).collect();
    assert!(gaps.contains(&Reason::ClockStep));
    assert_eq!(windows.first().expect("windows").start_ms, T0);
}

#[test]
fn a_reboot_is_downtime_up_to_the_boot_and_unobserved_from_there_to_the_first_reading() {
    let (stopped_ms, booted_ms) = (T0 - 5 * 3_600_000 + 1_000, T0 - 90_000);
    let until_ms = [("GPU-1".to_owned(), stopped_ms)].into();
    let mut story = Story::begin_after(Before { until_ms, rebooted_ms: Some(booted_ms) });
    story.pass(60);
    let (windows, batches) = story.end();
    assert_eq!(windows.first().expect("windows").start_ms, stopped_ms);
    let down: i64 = windows.iter().map(|w| i64::try_from(w.unavailable_ms).expect("some hours")).sum();
    assert_eq!((down, observed(&windows)), (booted_ms - stopped_ms, 60_000));
    assert!(windows.iter().all(|w| (w.unavailable_ms > 0) == (w.reason() == Reason::NodeFailed)));
    let gaps: i64 = batches.iter().flat_map(|b| &b.gaps).map(|g| g.end_ms - g.start_ms).sum();
    assert_eq!(gaps, T0 - booted_ms);
    assert!(windows.len() < 30, "a long gap is cut no finer than the ledger needs: {}", windows.len());
}

#[test]
fn a_node_that_boots_into_another_layout_has_the_new_one_from_the_first_reading_on() {
    let until_ms = [("GPU-1".to_owned(), T0 - 3_600_000)].into();
    let before = Before { until_ms, rebooted_ms: Some(T0 - 60_000) };
    let mut story = Story::begin_cut(before, Some(vec![5, 6]));
    story.pass(60);
    let (windows, batches) = story.end();
    let seen: Vec<_> = windows.iter().filter(|w| w.observed_ms > 0).collect();
    assert!(seen.iter().all(|w| w.instances.iter().map(|i| i.gpu_instance).eq([5, 6])), "{seen:#?}");
    assert_eq!(observed(&windows), 60_000, "booting isn't a change of layout: nothing of it is unavailable");
    let held: u64 = batches.iter().flat_map(|b| &b.usage).map(|u| u.resident_ms.expect("known")).sum();
    assert_eq!(held, 60_000);
}
