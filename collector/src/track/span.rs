//! The time between two readings of the gauges, and what they say of it.

use super::residency::Resident;
use crate::attribution::{BusyInput, InstanceBusy, Place, Row};
use crate::config::BusySource;
use crate::reading::{BusySample, Field, Gauges, ProcessSample};
use schema::wire::{BusyKind, Reason};

/// Parts of a million in one percent.
const PPM_PER_PERCENT: u64 = 10_000;

/// A gauge's value from an instant to another.
#[derive(Debug, Clone, Copy)]
struct Step {
    from_ms: i64,
    to_ms: i64,
    ppm: u64,
}

/// A GPU instance: activity, activity by compute instance, memory used; all but the id may be unknown.
#[derive(Debug, Clone)]
struct InstanceGauge {
    gpu_instance: u32,
    ppm: Field<u64>,
    own_ppm: Vec<(u32, u64)>,
    memory_used: Option<u64>,
}

/// What is known of `[start, end)`.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub start_ms: i64,
    pub end_ms: i64,
    pub kind: BusyKind,
    /// Busy time comes from a DCGM exporter.
    pub by_dcgm: bool,
    steps: Field<Vec<Step>>,
    mean_ppm: u64,
    instances: Option<Vec<InstanceGauge>>,
    /// Use by process: PID, busy nanoseconds, last sample.
    processes: Vec<(u32, u64, i64)>,
    /// Growth of the energy counter and whether it was reset.
    pub energy: Option<(u64, bool)>,
    pub memory_used: Option<u64>,
}

fn ppm(fraction: f64) -> u64 {
    // A fraction of 0 to 1 becomes one of 0 to 1,000,000: no sign or size is lost.
    (fraction.clamp(0.0, 1.0) * 1e6).round() as u64
}

impl Span {
    /// From the gauges read at its end.
    pub fn new(
        start_ms: i64,
        end_ms: i64,
        gauges: &Gauges,
        source: BusySource,
        residents: &[Resident],
        sampled_ms: &mut Vec<(u32, i64)>,
    ) -> Self {
        let whole = |ppm: u64| vec![Step { from_ms: start_ms, to_ms: end_ms, ppm }];
        let activity = gauges.gpm.ok().filter(|_| source == BusySource::SmActive);
        let (kind, steps) = match (&gauges.mig, activity, &gauges.busy_samples) {
            (Some(all), _, _) => {
                let other = all.iter().find_map(|instance| instance.dcgm);
                (other.map_or(BusyKind::SmActive, |activity| activity.kind), Err(Reason::NotSupported))
            }
            (None, Some(gpm), _) => (BusyKind::SmActive, Ok(whole(ppm(gpm.sm)))),
            (None, None, Ok(samples)) if !samples.is_empty() => {
                (BusyKind::KernelResident, Ok(steps(samples, start_ms, end_ms)))
            }
            // Without samples the gauge stands for the whole span: right on average, if not in each.
            _ => (
                BusyKind::KernelResident,
                gauges.utilization.map(|(percent, _)| whole(u64::from(percent) * PPM_PER_PERCENT)),
            ),
        };
        let steps = match steps {
            Ok(steps) if steps.is_empty() => {
                gauges.utilization.map(|(percent, _)| whole(u64::from(percent) * PPM_PER_PERCENT))
            }
            steps => steps,
        };
        let mut span = Self {
            start_ms,
            end_ms,
            kind,
            by_dcgm: gauges.mig.iter().flatten().any(|instance| instance.dcgm.is_some()),
            mean_ppm: steps.as_ref().map_or(0, |steps| mean(steps)),
            steps,
            instances: gauges.mig.as_ref().map(|all| instance_gauges(all)),
            processes: Vec::new(),
            energy: None,
            memory_used: gauges.memory.ok().map(|memory| memory.used_bytes),
        };
        if let Ok(samples) = &gauges.process_samples {
            span.count_processes(samples, residents, sampled_ms);
        }
        span
    }

    /// Whether NVML's sample is the mean since the last one or the value of the latest busy period isn't documented.
    /// Both readings of the samples are worked out, and the one that explains the device's own figure better is kept.
    fn count_processes(
        &mut self,
        samples: &[ProcessSample],
        residents: &[Resident],
        sampled_ms: &mut Vec<(u32, i64)>,
    ) {
        let len_ms = self.end_ms - self.start_ms;
        let mut since: Vec<(u32, u64, i64)> = Vec::new();
        let mut mean: Vec<(u32, u64)> = Vec::new();
        for sample in samples {
            let at_ms = sample.at_us / 1000;
            let before =
                sampled_ms.iter().find(|(pid, _)| *pid == sample.pid).map_or(self.start_ms, |(_, at)| *at);
            let covered = u64::try_from((at_ms - before.max(self.start_ms)).clamp(0, len_ms)).unwrap_or(0);
            let value = u64::from(sample.percent) * PPM_PER_PERCENT;
            match since.iter_mut().find(|(pid, _, _)| *pid == sample.pid) {
                Some(known) => (known.1, known.2) = (known.1 + value * covered, at_ms),
                None => since.push((sample.pid, value * covered, at_ms)),
            }
            let whole = value * u64::try_from(len_ms).unwrap_or(0);
            match mean.iter_mut().find(|(pid, _)| *pid == sample.pid) {
                // Several samples of one process are steps, not means of the same time.
                Some(known) => {
                    known.1 = since.iter().find(|(pid, _, _)| *pid == sample.pid).map_or(0, |(_, ns, _)| *ns)
                }
                None => mean.push((sample.pid, whole)),
            }
            match sampled_ms.iter_mut().find(|(pid, _)| *pid == sample.pid) {
                Some(known) => known.1 = at_ms,
                None => sampled_ms.push((sample.pid, at_ms)),
            }
        }
        sampled_ms.retain(|(pid, _)| {
            residents.iter().any(|r| r.pid == *pid) || samples.iter().any(|s| s.pid == *pid)
        });
        let device = self.steps.as_ref().map_or(0, |_| self.mean_ppm * u64::try_from(len_ms).unwrap_or(0));
        let by_since: u64 = since.iter().map(|(_, ns, _)| ns).sum();
        let by_mean: u64 = mean.iter().map(|(_, ns)| ns).sum();
        if by_mean.abs_diff(device) < by_since.abs_diff(device) {
            for (known, (_, ns)) in since.iter_mut().zip(mean) {
                known.1 = ns;
            }
        }
        self.processes = since;
    }

    /// Busy nanoseconds that samples give a process.
    pub fn weight(&self, pid: u32) -> u64 {
        self.processes.iter().find(|(known, _, _)| *known == pid).map_or(0, |(_, ns, _)| *ns)
    }

    /// The last sample of a process in the span.
    pub fn last_sample_ms(&self, pid: u32) -> Option<i64> {
        self.processes.iter().find(|(known, _, _)| *known == pid).map(|(_, _, at)| *at)
    }

    /// The end of the last step in which the device was busy, where steps are finer than the span.
    pub fn last_busy_ms(&self) -> Option<i64> {
        let steps = self.steps.as_ref().ok().filter(|steps| steps.len() > 1)?;
        steps.iter().rev().find(|step| step.ppm > 0).map(|step| step.to_ms)
    }

    /// Known not to have been busy at all.
    pub fn is_idle(&self) -> bool {
        match &self.instances {
            None => self.steps.as_ref().is_ok_and(|steps| steps.iter().all(|step| step.ppm == 0)),
            Some(all) => all.iter().all(|gi| gi.ppm == Ok(0)),
        }
    }

    /// Busy time in a part of the span.
    pub fn busy(&self, start_ms: i64, end_ms: i64) -> BusyInput {
        let len_ms = u64::try_from(end_ms - start_ms).expect("a stretch's end isn't before its start");
        match &self.instances {
            None => BusyInput::Device(match &self.steps {
                Err(reason) => Err(*reason),
                Ok(steps) => Ok(self.device_ns(steps, start_ms, end_ms, len_ms)),
            }),
            Some(all) => BusyInput::Instances(
                all.iter()
                    .map(|gi| InstanceBusy {
                        gpu_instance: gi.gpu_instance,
                        busy_ns: gi.ppm.map(|ppm| ppm * len_ms),
                        own_ns: gi.own_ppm.iter().map(|(ci, ppm)| (*ci, ppm * len_ms)).collect(),
                    })
                    .collect(),
            ),
        }
    }

    /// Steps where there are any, the mean of them where there aren't: a ring that is shorter than the span, and the
    /// sample period that hasn't ended yet. A part of a million of a millisecond is a nanosecond.
    fn device_ns(&self, steps: &[Step], start_ms: i64, end_ms: i64, len_ms: u64) -> u64 {
        let (mut covered_ms, mut busy_ns) = (0, 0);
        for step in steps {
            let overlap = u64::try_from(step.to_ms.min(end_ms) - step.from_ms.max(start_ms)).unwrap_or(0);
            covered_ms += overlap;
            busy_ns += overlap * step.ppm;
        }
        busy_ns + len_ms.saturating_sub(covered_ms) * self.mean_ppm
    }

    /// Memory of the GPU instance where one row alone is in it.
    pub fn instance_memory(&self, place: Place, rows: &[Row]) -> Option<u64> {
        let in_gi = rows.iter().filter(|row| row.place.gpu_instance == place.gpu_instance).count();
        let all = self.instances.as_ref()?;
        let gi = all.iter().find(|gi| Some(gi.gpu_instance) == place.gpu_instance)?;
        gi.memory_used.filter(|_| in_gi == 1)
    }

    /// The part of the energy counter's growth that falls on a part of the span; parts that tile the span sum to it.
    pub fn energy_between(&self, start_ms: i64, end_ms: i64) -> Option<u64> {
        let (growth, _) = self.energy?;
        let len = u128::try_from(self.end_ms - self.start_ms).ok().filter(|len| *len > 0)?;
        let until = |at: i64| u128::from(growth) * u128::try_from(at - self.start_ms).unwrap_or(0) / len;
        u64::try_from(until(end_ms) - until(start_ms)).ok()
    }
}

/// Steps that end at the samples' instants, cut to the span. Each reaches back to the sample before it.
fn steps(samples: &[BusySample], start_ms: i64, end_ms: i64) -> Vec<Step> {
    let period_ms = match samples {
        [first, .., last] => {
            ((last.at_us - first.at_us) / 1000 / (i64::try_from(samples.len()).unwrap_or(2) - 1)).max(1)
        }
        _ => end_ms - start_ms,
    };
    let mut steps = Vec::with_capacity(samples.len());
    let mut before_ms: Option<i64> = None;
    for sample in samples {
        let at_ms = sample.at_us / 1000;
        let from_ms = before_ms.unwrap_or(at_ms - period_ms).max(start_ms);
        let to_ms = at_ms.min(end_ms);
        if from_ms < to_ms {
            steps.push(Step { from_ms, to_ms, ppm: u64::from(sample.percent) * PPM_PER_PERCENT });
        }
        before_ms = Some(at_ms);
    }
    steps
}

fn mean(steps: &[Step]) -> u64 {
    let (mut len, mut sum) = (0, 0);
    for step in steps {
        let ms = u64::try_from(step.to_ms - step.from_ms).unwrap_or(0);
        len += ms;
        sum += ms * step.ppm;
    }
    (sum + len / 2).checked_div(len).unwrap_or(0)
}

fn instance_gauges(instances: &[crate::reading::Instance]) -> Vec<InstanceGauge> {
    let mut gauges: Vec<InstanceGauge> = Vec::new();
    for instance in instances {
        let at = gauges.iter().position(|gi| gi.gpu_instance == instance.gpu_instance).unwrap_or_else(|| {
            gauges.push(InstanceGauge {
                gpu_instance: instance.gpu_instance,
                ppm: match instance.dcgm {
                    Some(activity) => Ok(ppm(activity.ratio)),
                    None => instance.gpm.map(|gpm| ppm(gpm.sm)),
                },
                own_ppm: Vec::new(),
                memory_used: instance.memory.ok().map(|memory| memory.used_bytes),
            });
            gauges.len() - 1
        });
        if let Some(own) = instance.own_gpm {
            gauges[at].own_ppm.push((instance.compute_instance, ppm(own.sm)));
        }
    }
    gauges
}
