//! The shipped collector code on a case's node: Kubernetes' word from the real witness over real sockets, NVML from the
//! simulated library, time by hand.

use super::case::{Case, PARTS, START_MS};
use super::cluster::Cluster;
use super::totals::{Totals, gpu_seconds};
use anyhow::{Context, Result, ensure};
use collector::absence::Absence;
use collector::clock::{Clock, ManualClock};
use collector::kubernetes::kept::Place;
use collector::kubernetes::{KubernetesConfig, Witness, start};
use harness::kubernetes::in_time;
use schema::owner::key;
use schema::wire::{Batch, Owner, Reason};
use simulator::node::Cadence;
use simulator::scheduled::{ScheduledNode, Start};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Longest stage, seconds: a witness keeps what ended for a quarter of an hour.
const STEP_S: i64 = 800;

/// What the collector says of an hour.
#[derive(Debug, Default)]
pub struct Ours {
    /// By tenant.
    pub totals: Totals,
    /// Held time whose use it calls unknown, GPU-seconds.
    pub unknown_s: f64,
}

/// Runs the hour.
///
/// # Errors
/// The node can't be run, or a share isn't one of the case's.
pub fn run(case: &Case) -> Result<Ours> {
    let dir = tempfile::tempdir()?;
    let mut cluster = case.kubernetes.then(|| Cluster::start(dir.path(), case));
    let state = dir.path().join("state");
    std::fs::create_dir(&state)?;
    let mut batches = Vec::new();
    for (number, (boot, from_s, to_s)) in case.runs().into_iter().enumerate() {
        let scenario = &case.boots[boot].scenario;
        let booted_ms = START_MS + scenario.boot.micros() / 1_000;
        let boot_id = scenario.boot_id.clone().unwrap_or_default();
        let (mut absence, before) = Absence::open(&state, &boot_id, Some(booted_ms));
        let kept = Place { directory: state.clone(), boot_id };
        let node_dir = dir.path().join(format!("run-{number}"));
        std::fs::create_dir(&node_dir)?;
        let witness = case.kubernetes.then(Witness::default);
        let node = ScheduledNode::new(Start {
            dir: &node_dir,
            cluster: "acceptance",
            scenario,
            cadence: Cadence::DEFAULT,
            at_ms: ms(from_s),
            incarnation: number as u128 + 1,
            witness: witness.clone(),
            before,
        })?;
        let made = match (&mut cluster, &witness) {
            (Some(cluster), Some(witness)) => {
                witnessed(case, cluster, (witness, kept), dir.path(), node, (from_s, to_s))?
            }
            _ => alone(node, to_s)?,
        };
        absence.reached(&made)?;
        batches.extend(made);
    }
    sum(case, &batches)
}

fn ms(at_s: i64) -> i64 {
    START_MS + at_s * 1000
}

fn alone(mut node: ScheduledNode, to_s: i64) -> Result<Vec<Batch>> {
    node.advance_to(ms(to_s))?;
    Ok(node.finish())
}

/// Time passes in stages, from one pod's start to the next, and no further at once than the witness keeps what ended.
/// The node waits at each until the witness's word is of then: on a real node it hears of a pod within a second or so,
/// and virtual time mustn't outrun that.
fn witnessed(
    case: &Case,
    cluster: &mut Cluster<'_>,
    (witness, kept): (&Witness, Place),
    dir: &Path,
    mut node: ScheduledNode,
    (from_s, to_s): (i64, i64),
) -> Result<Vec<Batch>> {
    cluster.show(from_s);
    // What ended while no collector ran is gone from the kubelet's list by now.
    cluster.forget();
    let clock = ManualClock::at(ms(from_s));
    let time = clock.clone();
    let config = KubernetesConfig {
        socket: Cluster::socket(dir),
        poll_seconds: 1,
        kept: Some(kept),
        ..KubernetesConfig::default()
    };
    let running =
        start(config, "n1", Some(cluster.api.url()), witness, &(Arc::new(move || time.wall_ms()) as _))?;
    for at_s in stages(case, from_s, to_s) {
        node.advance_to(ms(at_s))?;
        clock.advance_to(ms(at_s));
        cluster.show(at_s);
        in_time(|| cluster.is_told(witness, at_s))
            .with_context(|| format!("the witness never said who holds what at {at_s} s"))?;
        cluster.forget();
    }
    let batches = node.finish();
    drop(running);
    Ok(batches)
}

/// Pods' starts, and instants between them where they are far apart.
fn stages(case: &Case, from_s: i64, to_s: i64) -> Vec<i64> {
    let starts = case.holders.iter().map(|holder| holder.start_s).filter(|at| from_s < *at && *at < to_s);
    let mut ends: Vec<i64> = starts.chain([from_s, to_s]).collect();
    ends.sort_unstable();
    ends.dedup();
    let between = |pair: &[i64]| (pair[0]..pair[1]).step_by(STEP_S as usize).collect::<Vec<_>>();
    ends.windows(2).flat_map(between).chain([to_s]).collect()
}

/// What the rows say, by tenant.
fn sum(case: &Case, batches: &[Batch]) -> Result<Ours> {
    let mut held: BTreeMap<String, i64> = BTreeMap::new();
    let mut ours = Ours::default();
    for batch in batches {
        for row in &batch.usage {
            let owner = row.owner.map(|owner| &batch.owners[owner as usize]);
            let tenant = tenant(case, owner);
            let given_ms = i64::try_from(row.allocated_ms.or(row.resident_ms).unwrap_or(0))?;
            let (num, den) = (i64::from(row.share_num), i64::from(row.share_den));
            ensure!(PARTS % den == 0, "{}: a share of {num}/{den} is none of its shares", case.name);
            let parts_ms = given_ms * num * (PARTS / den);
            *held.entry(tenant.clone()).or_default() += parts_ms;
            let usage = ours.totals.entry(tenant).or_default();
            match row.busy_ms {
                Some(busy_ms) => {
                    let busy_s = busy_ms as f64 / 1e3 * f64::from(row.weight_num) / f64::from(row.weight_den);
                    usage.busy_s = Some(usage.busy_s.unwrap_or(0.0) + busy_s);
                }
                // What happens up to a start's second reading is part of the error that is judged.
                None if row.unknown_reason() == Reason::FirstSample => {}
                None => ours.unknown_s += gpu_seconds(parts_ms),
            }
        }
    }
    for (tenant, parts_ms) in held {
        ours.totals.get_mut(&tenant).context("it was just entered")?.held_s = gpu_seconds(parts_ms);
    }
    Ok(ours)
}

/// The tenant of a row's owner; an owner that the case doesn't know is one of its own, whose truth is zero.
fn tenant(case: &Case, owner: Option<&Owner>) -> String {
    let Some(owner) = owner else { return "ghost".to_owned() };
    let get = |key: &str| owner.attributes.iter().find(|a| a.key == key).map(|a| a.value.clone());
    let name = get(key::POD).or_else(|| get(key::UID).map(|uid| format!("uid:{uid}")));
    let name = name.unwrap_or_else(|| owner.evidence.clone());
    case.holders.iter().find(|holder| holder.name == name).map_or(name, |holder| holder.tenant.clone())
}
