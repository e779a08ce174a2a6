//! What the spool of a node with 8 GPUs in 7 MIG instances each needs: time to make a window's batch durable, and
//! bytes for the seven days that a server may be away.

use crate::{scenarios, shown};
use anyhow::{Result, ensure};
use collector::config;
use collector::spool::Spool;
use harness::figures::{Figures, Target};
use schema::wire::Batch;
use simulator::node::{Cadence, SimNode};
use std::path::Path;
use std::time::Instant;

const SECTION: &str = "spool";
/// 2026-09-01T00:00:00Z.
const START_MS: i64 = 1_788_220_800_000;
const HOUR_MS: i64 = 3_600_000;
/// The hour is written this often, each time into a spool of its own, so that a 99th percentile means something.
const REPEATS: usize = 5;

/// Writes one virtual hour's batches into spools under `disk`, which must not lie in memory.
///
/// # Errors
/// The node can't be run or the spool can't be written.
pub fn run(figures: &mut Figures, disk: &Path) -> Result<()> {
    let batches = hour()?;
    let mut took_ms = Vec::with_capacity(REPEATS * batches.len());
    let mut bytes = 0;
    for _ in 0..REPEATS {
        let scratch = tempfile::tempdir_in(disk)?;
        let settings = config::Spool { directory: scratch.path().to_owned(), ..config::Spool::default() };
        let mut spool = Spool::open(&settings)?;
        ensure!(!spool.stats().volatile, "{} lies in memory: fsync costs nothing there", disk.display());
        for batch in &batches {
            let began = Instant::now();
            spool.append(batch)?;
            took_ms.push(began.elapsed().as_secs_f64() * 1e3);
        }
        bytes = spool.stats().bytes;
    }
    took_ms.sort_by(f64::total_cmp);
    let p99_ms = took_ms[(took_ms.len() * 99).div_ceil(100) - 1];
    let day_mib = 24.0 * bytes as f64 / f64::from(1 << 20);
    let mut add = |name: &str, value: f64, unit: &str, target: Target| {
        figures.add(SECTION, name, shown(value), unit, target);
    };
    add("append_p50", took_ms[took_ms.len() / 2], "ms", Target::Shown);
    add("append_p99", p99_ms, "ms", Target::Shown);
    add("mib_a_day", day_mib, "MiB", Target::Shown);
    add("mib_in_7_days", 7.0 * day_mib, "MiB", Target::AtMost(256.0));
    Ok(())
}

/// The batches of one hour at the default cadence.
fn hour() -> Result<Vec<Batch>> {
    let scratch = tempfile::tempdir()?;
    let scenario = scenarios::changing_mig(HOUR_MS / 1000).starting_at_us(START_MS * 1000);
    let mut node = SimNode::new(scratch.path(), "bench", &scenario, Cadence::DEFAULT, START_MS, 1)?;
    let mut batches = node.advance_to(START_MS + HOUR_MS)?;
    batches.extend(node.flush());
    let windows: usize = batches.iter().map(|batch| batch.device_windows.len()).sum();
    ensure!(windows >= 60 * scenarios::GPUS, "an hour has 60 windows a device, not {windows} in all");
    Ok(batches)
}
