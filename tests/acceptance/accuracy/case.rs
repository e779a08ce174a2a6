//! What a scenario is: a node over an hour, who was given what of it, and what of that a meter can know.

use harness::kubernetes::{cgroup, container_id};
use nvidia_ml::scenario::{Gpu, Process, Scenario, Seconds, Series, Wave};
use nvidia_ml::truth::truth;
use std::collections::BTreeMap;

/// 2026-09-01T00:00:00Z.
pub const START_MS: i64 = 1_788_220_800_000;
/// Length of every scenario, seconds.
pub const HOUR_S: i64 = 3_600;
/// Shares are counted in these parts, so that every share of these scenarios is whole.
pub const PARTS: i64 = 840;

/// What can be known of a scenario's busy time, by anyone who asks NVML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// Each tenant's.
    Measured,
    /// A MIG instance's, but not how its processes divide it: tenants' parts are estimates.
    Instance,
    /// None: MIG before Hopper.
    Unknown,
}

/// How a holder was given a device.
#[derive(Debug, Clone)]
pub enum Given {
    /// By a device plugin: resource and device ids, which are slots of one device.
    Plugin(String, Vec<String>),
    /// By HAMi: device id, MiB and percent of the cores.
    Hami(String, u32, u32),
    /// By DRA: name of a claim that may be shared, and of the device.
    Claim(&'static str, &'static str),
    /// By nobody: its processes are there.
    Present,
}

/// A share of a device between two instants, seconds of the hour.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Start.
    pub from_s: i64,
    /// End, not included.
    pub to_s: i64,
    /// Parts of the device out of [`PARTS`].
    pub parts: i64,
}

/// A device, or an instance of it, that a holder has.
#[derive(Debug, Clone)]
pub struct Hold {
    /// GPU's index.
    pub gpu: usize,
    /// GPU instance and its compute slices of seven.
    pub instance: Option<(u32, i64)>,
    /// How it was given.
    pub given: Given,
    /// How much, when: the truth of held time.
    pub spans: Vec<Span>,
}

/// A pod, or a user of a host without a scheduler.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Pod's name, or `uid:1000`.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// Start of its life, seconds of the hour.
    pub start_s: i64,
    /// End of its life; `None` after the hour.
    pub end_s: Option<i64>,
    /// `nvidia.com/gpu` that the pod requests.
    pub gpus: u32,
    /// What it has.
    pub holds: Vec<Hold>,
}

impl Holder {
    /// Whether it lives at this second.
    pub fn lives(&self, at_s: i64) -> bool {
        self.start_s <= at_s && self.end_s.is_none_or(|end| at_s < end)
    }
}

/// The node between two boots.
#[derive(Debug, Clone)]
pub struct Boot {
    /// What is true of it.
    pub scenario: Scenario,
    /// First second of the hour in which it is up.
    pub from_s: i64,
    /// Where it goes down.
    pub to_s: i64,
}

/// A scenario.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name in figures and the node's name.
    pub name: &'static str,
    /// Its row's name in the table.
    pub title: &'static str,
    /// The node's boots, in order.
    pub boots: Vec<Boot>,
    /// The time in which no collector ran.
    pub gap_s: Option<(i64, i64)>,
    /// Device ids that the device plugin has cut into so many slots.
    pub slots: Vec<(String, u32)>,
    /// DRA devices: claim, device name, GPU's index.
    pub claims: Vec<(&'static str, &'static str, usize)>,
    /// Pods or users.
    pub holders: Vec<Holder>,
    /// What is known of busy time.
    pub busy: Busy,
    /// Whether Kubernetes gave the devices out.
    pub kubernetes: bool,
    /// How far a tenant's held time may be off, GPU-seconds: nothing where a scheduler tells exact edges.
    pub held_slack_s: f64,
    /// Tenants of processes by PID.
    pub tenant_of_pid: BTreeMap<u32, String>,
}

/// PIDs of the simulated processes start here: beyond what a kernel gives out, so that no method finds a process of
/// this machine by one.
const FIRST_PID: u32 = 5_000_001;

impl Case {
    /// A node with these GPUs on which Kubernetes gives devices out.
    pub fn new(name: &'static str, title: &'static str, gpus: Vec<Gpu>) -> Self {
        let mut scenario = Scenario::new(name).starting_at_us(START_MS * 1000);
        scenario.gpus = gpus;
        scenario.boot_id = Some("boot-1".to_owned());
        Self {
            name,
            title,
            boots: vec![Boot { scenario, from_s: 0, to_s: HOUR_S }],
            gap_s: None,
            slots: Vec::new(),
            claims: Vec::new(),
            holders: Vec::new(),
            busy: Busy::Measured,
            kubernetes: true,
            held_slack_s: 0.0,
            tenant_of_pid: BTreeMap::new(),
        }
    }

    /// UUID of a GPU.
    pub fn uuid(&self, gpu: usize) -> String {
        truth(&self.boots[0].scenario, START_MS * 1000, START_MS * 1000 + 1).gpus[gpu].uuid.clone()
    }

    /// UUID of a GPU instance's MIG device, as it is at a second.
    pub fn mig_uuid(&self, gpu: usize, gi: u32, at_s: i64) -> String {
        let at_us = (START_MS + at_s * 1000) * 1000;
        let there = truth(&self.boots[0].scenario, at_us, at_us + 1);
        let uuid = &there.gpus[gpu].uuid;
        let found = there.instances.iter().find(|i| i.gpu_uuid == *uuid && i.gi == gi);
        found.map(|i| i.uuid.clone()).expect("the scenario has this instance then")
    }

    /// Adds a pod that lives from one second to another.
    pub fn pod(&mut self, name: &str, life: (i64, Option<i64>), gpus: u32, holds: Vec<Hold>) {
        let (start_s, end_s) = life;
        let (name, tenant) = (name.to_owned(), name.to_owned());
        self.holders.push(Holder { name, tenant, start_s, end_s, gpus, holds });
    }

    /// A hold of a whole GPU or a part of it, from one second to another.
    pub fn part(&self, gpu: usize, given: Given, (from_s, to_s): (i64, i64), parts: i64) -> Hold {
        Hold { gpu, instance: None, given, spans: vec![Span { from_s, to_s, parts }] }
    }

    /// A whole GPU from the device plugin.
    pub fn whole(&self, gpu: usize, span: (i64, i64)) -> Hold {
        self.part(gpu, Given::Plugin("nvidia.com/gpu".into(), vec![self.uuid(gpu)]), span, PARTS)
    }

    /// Slots of a GPU that is cut into `of`.
    pub fn slots(&self, gpu: usize, indices: &[u32], of: i64, span: (i64, i64)) -> Hold {
        let ids: Vec<String> = indices.iter().map(|at| format!("{}::{at}", self.uuid(gpu))).collect();
        let parts = PARTS / of * i64::try_from(ids.len()).expect("few");
        self.part(gpu, Given::Plugin("nvidia.com/gpu".into(), ids), span, parts)
    }

    /// A MIG instance of so many slices, named as it is at the span's start.
    pub fn mig(&self, gpu: usize, gi: u32, profile: &str, span: (i64, i64)) -> Hold {
        let id = self.mig_uuid(gpu, gi, span.0);
        let slices = slices(profile);
        let given = Given::Plugin(format!("nvidia.com/mig-{profile}"), vec![id]);
        Hold { instance: Some((gi, slices)), ..self.part(gpu, given, span, PARTS * slices / 7) }
    }

    /// Adds a process of a holder to the current boot.
    pub fn work(
        &mut self,
        holder: &str,
        gpu: usize,
        gi: Option<u32>,
        (start_s, end_s): (i64, Option<i64>),
        busy: impl Into<Series>,
    ) {
        let pid = FIRST_PID + u32::try_from(self.tenant_of_pid.len()).expect("few");
        let owner = self.holders.iter().find(|own| own.name == holder).expect("add the holder first");
        self.tenant_of_pid.insert(pid, owner.tenant.clone());
        let mut process = Process::new(pid, gpu).busy(busy).memory_mib(1024.0);
        (process.start, process.end) = (Seconds::new(start_s), end_s.map(Seconds::new));
        process.gi = gi;
        process.ci = gi.map(|_| 0);
        match holder.strip_prefix("uid:") {
            Some(uid) => process.uid = uid.parse().expect("a number"),
            None => process = process.cgroup(&cgroup(&pod_uid(holder), &container_id(holder))),
        }
        let boot = self.boots.last_mut().expect("a node boots once at least");
        boot.scenario.processes.push(process);
    }

    /// The times in which a collector runs, each with its boot: the boots without the gap.
    pub fn runs(&self) -> Vec<(usize, i64, i64)> {
        let (gap_from, gap_to) = self.gap_s.unwrap_or((HOUR_S, HOUR_S));
        let cut =
            |boot: &Boot| [(boot.from_s, boot.to_s.min(gap_from)), (boot.from_s.max(gap_to), boot.to_s)];
        let runs = self.boots.iter().enumerate().flat_map(|(at, boot)| cut(boot).map(|(f, t)| (at, f, t)));
        runs.filter(|(_, from, to)| from < to).collect()
    }
}

/// The UID of a pod.
pub fn pod_uid(name: &str) -> String {
    format!("{name}-uid")
}

/// Compute slices of a profile: 3 of `3g.40gb`.
pub fn slices(profile: &str) -> i64 {
    profile.split('g').next().and_then(|n| n.parse().ok()).expect("a profile begins with its slices")
}

/// Busy so many percent for `on_s` of every `period_s`, from its process's start.
pub fn wave(period_s: i64, on_s: i64, percent: f64) -> Series {
    Series::Wave(Wave { period_s: Seconds::new(period_s), on_s: Seconds::new(on_s), percent })
}
