//! The production day of GPU utilisation, straight from its CSV: the answer that the whole path is held against.
//! Shares no code with the path under test.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A sample holds until the next one, unless that is further away than this, in seconds: then it is a gap.
const GAP_S: i64 = 114;

/// One container's samples, in time order.
pub struct Container {
    /// Hash that names it in the trace.
    pub name: String,
    /// (Unix seconds, percent).
    pub samples: Vec<(i64, f64)>,
}

/// Observed and busy hours of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hours {
    /// Left Riemann sum of the time between samples, gaps left out.
    pub observed: f64,
    /// Left Riemann sum of utilisation x time.
    pub busy: f64,
}

impl Container {
    /// What the CSV itself says.
    pub fn hours(&self) -> Hours {
        let mut hours = Hours::default();
        for pair in self.samples.windows(2) {
            let [(start, percent), (end, _)] = pair else { unreachable!("windows(2) gives pairs") };
            if end - start <= GAP_S {
                let span = (end - start) as f64 / 3600.0;
                hours.observed += span;
                hours.busy += span * percent / 100.0;
            }
        }
        hours
    }

    /// Gaps as `[from, to)` in Unix seconds.
    pub fn gaps(&self) -> Vec<(i64, i64)> {
        self.samples.windows(2).filter(|p| p[1].0 - p[0].0 > GAP_S).map(|p| (p[0].0, p[1].0)).collect()
    }
}

/// Reads the tarball.
///
/// # Errors
/// The file is missing, or a row isn't `value,timestamp,container`.
pub fn read(tarball: &Path) -> Result<Vec<Container>> {
    let out = Command::new("tar").arg("-xzOf").arg(tarball).output().context("tar")?;
    ensure!(out.status.success(), "tar can't read {}", tarball.display());
    let mut by_name: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
    for line in String::from_utf8(out.stdout)?.lines().skip(1) {
        let mut cells = line.split(',');
        let (Some(value), Some(at), Some(name)) = (cells.next(), cells.next(), cells.next()) else {
            anyhow::bail!("a row of {} has fewer than three cells: {line}", tarball.display());
        };
        by_name.entry(name.to_string()).or_default().push((at.parse::<f64>()? as i64, value.parse()?));
    }
    Ok(by_name
        .into_iter()
        .map(|(name, mut samples)| {
            samples.sort_by_key(|s| s.0);
            Container { name, samples }
        })
        .collect())
}
