//! Chargeback accuracy: scenarios of known truth, our error in held and busy GPU-seconds per tenant, and beside it that of
//! three methods that people use today, on the same node.
//!
//! Held time must be exact where a scheduler tells edges, and busy time within 1 % of the hour; where nobody can know it,
//! the row says so. The README's table is held to what a run gives.

mod case;
mod cases;
mod cluster;
mod dcgm;
mod nvitop;
mod opencost;
mod ours;
mod prometheus;
mod table;
mod totals;

use anyhow::{Context, Result};
use case::{Busy, Case, HOUR_S};
use harness::figures::{Figures, Target};
use ours::Ours;
use prometheus::Prometheus;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use totals::{busy_error, busy_sum_error, held_error, wanted, wanted_busy_in};

const SECTION: &str = "accuracy";

/// Scenarios at a time: they wait for the cluster's threads more than they compute.
const WORKERS: usize = 16;

/// A tenant's busy time may be off by so much of the hour, percent.
const BUSY_PERCENT: f64 = 1.0;

/// What is said of our busy time.
enum OurBusy {
    /// Error, and held time whose use is unknown, GPU-seconds.
    Measured(f64, f64),
    /// Error of an estimate, GPU-seconds.
    Estimated(f64),
    /// It can't be known, and isn't told.
    Unknown,
}

impl fmt::Display for OurBusy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OurBusy::Measured(error_s, unknown_s) if *unknown_s > 0.0 => {
                write!(f, "{}, unknown for {unknown_s:.0}", table::tenth(*error_s))
            }
            OurBusy::Measured(error_s, _) => f.write_str(&table::tenth(*error_s)),
            OurBusy::Estimated(error_s) => write!(f, "{}, estimated", table::tenth(*error_s)),
            OurBusy::Unknown => f.write_str("unknown"),
        }
    }
}

/// A row of the table: the largest error of a tenant, GPU-seconds; `None` where a method says nothing.
pub struct Row {
    title: &'static str,
    ours_held_s: f64,
    ours_busy: OurBusy,
    opencost_held_s: Option<f64>,
    dcgm_held_s: Option<f64>,
    dcgm_busy_s: Option<f64>,
    nvitop_held_s: f64,
    nvitop_busy_s: Option<f64>,
}

/// Runs all scenarios.
///
/// # Errors
/// A scenario can't be run, or a component is missing.
pub fn run(figures: &mut Figures, root: &Path) -> Result<()> {
    let cases = cases::all();
    let (ours, samples) = in_parallel(&cases)?;
    let dir = tempfile::tempdir()?;
    let prometheus = Prometheus::serve(dir.path(), &samples)?;
    let mut rows = Vec::new();
    for (case, ours) in cases.iter().zip(&ours) {
        rows.push(judge(figures, case, ours, &prometheus).with_context(|| case.name)?);
    }
    let table = table::markdown(&rows);
    println!("{table}");
    let is_in = table::is_in(&root.join("README.md"), &table)?;
    figures.add(SECTION, "readme_table_is_this", f64::from(u8::from(is_in)), "yes", Target::AtLeast(1.0));
    Ok(())
}

/// Every case through the collector and through nvitop-exporter: what ours says of each, and all samples.
fn in_parallel(cases: &[Case]) -> Result<(Vec<Ours>, String)> {
    // The case with the most stages is the longest: it goes first.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(cases[*at].holders.len()));
    let queue = Mutex::new(order.into_iter());
    let done: Mutex<Vec<(usize, Ours, String)>> = Mutex::default();
    let worker = || -> Result<()> {
        loop {
            let Some(at) = queue.lock().expect("no worker panics holding it").next() else { return Ok(()) };
            let case = &cases[at];
            let samples = nvitop::scrape(case)?;
            let ours = ours::run(case).with_context(|| case.name)?;
            done.lock().expect("no worker panics holding it").push((at, ours, samples));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a scenario panicked"))?)
    })?;
    let mut done = done.into_inner().expect("no worker panicked");
    done.sort_by_key(|(at, ..)| *at);
    let samples = done.iter().map(|(_, _, samples)| samples.as_str()).collect();
    Ok((done.into_iter().map(|(_, ours, _)| ours).collect(), samples))
}

fn judge(figures: &mut Figures, case: &Case, ours: &Ours, prometheus: &Prometheus) -> Result<Row> {
    let mut add = |figure: &str, value: f64, unit: &str, target: Target| {
        figures.add(
            SECTION,
            &format!("{}_{figure}", case.name),
            (value * 1e3).round() / 1e3 + 0.0,
            unit,
            target,
        );
    };
    let truth = wanted(case);
    let ours_held_s = held_error(&truth, &ours.totals);
    add("held_error", ours_held_s, "GPU-s", Target::AtMost(case.held_slack_s));
    // Time in which no collector ran isn't told as known, so it isn't judged as such; how much it is, is shown.
    let observed = wanted_busy_in(case, &case.runs());
    let percent = |error_s: f64| error_s / HOUR_S as f64 * 100.0;
    let busy_s = busy_error(&observed, &ours.totals).unwrap_or(0.0);
    let ours_busy = match case.busy {
        Busy::Measured => {
            add("busy_error", percent(busy_s), "% of the hour", Target::AtMost(BUSY_PERCENT));
            if case.gap_s.is_some() {
                add("busy_unknown", ours.unknown_s, "GPU-s", Target::Shown);
            }
            OurBusy::Measured(busy_s, if case.gap_s.is_some() { ours.unknown_s } else { 0.0 })
        }
        Busy::Instance => {
            let sum_s = busy_sum_error(&observed, &ours.totals);
            add("busy_error_of_all", percent(sum_s), "% of the hour", Target::AtMost(BUSY_PERCENT));
            add("busy_error", percent(busy_s), "% of the hour", Target::Shown);
            OurBusy::Estimated(busy_s)
        }
        Busy::Unknown => {
            // A known figure here would be invented.
            let known_s = ours.totals.values().filter_map(|usage| usage.busy_s).sum();
            add("busy_known", known_s, "GPU-s", Target::AtMost(0.0));
            OurBusy::Unknown
        }
    };
    let (opencost, dcgm) = (opencost::run(case), dcgm::run(case));
    let nvitop = nvitop::ask(case, prometheus)?;
    let row = Row {
        title: case.title,
        ours_held_s,
        ours_busy,
        opencost_held_s: opencost.map(|totals| held_error(&truth, &totals)),
        dcgm_held_s: dcgm.as_ref().map(|totals| held_error(&truth, totals)),
        dcgm_busy_s: dcgm.as_ref().and_then(|totals| busy_error(&truth, totals)),
        nvitop_held_s: held_error(&truth, &nvitop),
        nvitop_busy_s: busy_error(&truth, &nvitop),
    };
    for (figure, error_s) in [
        ("opencost_held_error", row.opencost_held_s),
        ("dcgm_held_error", row.dcgm_held_s),
        ("dcgm_busy_error", row.dcgm_busy_s),
        ("nvitop_held_error", Some(row.nvitop_held_s)),
        ("nvitop_busy_error", row.nvitop_busy_s),
    ] {
        if let Some(error_s) = error_s {
            add(figure, error_s, "GPU-s", Target::Shown);
        }
    }
    Ok(row)
}
