//! `nvitop-exporter` at a 30 s scrape: its own code over the simulated library, its samples in a real Prometheus, the
//! answer by PromQL.
//!
//! It knows PIDs, not pods: each is given to the tenant that the scenario says it is of. A process that is listed holds
//! the device for the interval (there is no other word on shares), or its MIG instance by the slices in its name.

use super::case::{Case, slices};
use super::prometheus::Prometheus;
use super::totals::Totals;
use anyhow::{Context, Result, ensure};
use harness::probe::venv;
use simulator::library::built_library;
use simulator::node::NodeFiles;
use std::collections::BTreeMap;
use std::process::Command;

/// Scrape interval, seconds; the first scrape is half an interval into the hour.
const INTERVAL_S: i64 = 30;

/// All samples of an hour, as OpenMetrics lines. An exporter starts anew where the node boots.
///
/// # Errors
/// The exporter isn't installed, or fails.
pub fn scrape(case: &Case) -> Result<String> {
    let python = venv()?.join("bin/python");
    ensure!(python.exists(), "{} is missing: tests/setup.sh installs it", python.display());
    let mut samples = String::new();
    for boot in &case.boots {
        let dir = tempfile::tempdir()?;
        let files = NodeFiles::write(dir.path(), &boot.scenario)?;
        std::fs::copy(built_library()?, dir.path().join("libnvidia-ml.so.1"))?;
        let script = dir.path().join("scrapes.py");
        std::fs::write(&script, include_str!("nvitop_scrapes.py"))?;
        let up = |at_s: &i64| boot.from_s <= *at_s && *at_s < boot.to_s;
        let first = (INTERVAL_S / 2..)
            .step_by(INTERVAL_S as usize)
            .find(up)
            .context("a boot shorter than a scrape")?;
        let unix = |at_s: i64| (super::case::START_MS / 1000 + at_s).to_string();
        let out = Command::new(&python)
            .arg(&script)
            .args([case.name, &unix(first), &unix(boot.to_s), &INTERVAL_S.to_string()])
            .env("LD_LIBRARY_PATH", dir.path())
            .env("FAKE_NVML_SCENARIO", &files.scenario)
            .output()
            .context("start python")?;
        let complaint = String::from_utf8_lossy(&out.stderr);
        ensure!(out.status.success(), "nvitop-exporter on {}: {complaint}", case.name);
        samples += &String::from_utf8(out.stdout)?;
    }
    Ok(samples)
}

/// Asks Prometheus for the hour.
///
/// # Errors
/// It doesn't answer.
pub fn ask(case: &Case, prometheus: &Prometheus) -> Result<Totals> {
    let own = format!("hostname=\"{}\"", case.name);
    let by = |query: &str| prometheus.by_labels(query, &["pid", "devicename"]);
    let listed = |uuid: &str| {
        by(&format!(
            "sum by (pid, devicename) (count_over_time(process_gpu_memory_MiB{{{own},uuid=~\"{uuid}\"}}[1h]))"
        ))
    };
    let mut totals = Totals::new();
    let mut held: BTreeMap<String, f64> = BTreeMap::new();
    for (labels, count) in listed("GPU-.*")? {
        *held.entry(labels[0].clone()).or_default() += count;
    }
    // Under MIG the exporter lists a process twice: on its instance, which is what it has, and on the GPU.
    for (labels, count) in listed("MIG-.*")? {
        let profile = labels[1].rsplit(' ').next().unwrap_or_default();
        *held.entry(labels[0].clone()).or_default() -= count * (1.0 - slices(profile) as f64 / 7.0);
    }
    for (pid, count) in held {
        let Some(tenant) = tenant(case, &pid)? else { continue };
        let usage = totals.entry(tenant).or_default();
        usage.held_s += count * INTERVAL_S as f64;
    }
    let sum = format!(
        "sum by (pid, devicename) (sum_over_time(process_gpu_sm_utilization_Percentage{{{own},uuid=~\"GPU-.*\"}}[1h]))"
    );
    for (labels, percent) in by(&sum)? {
        let Some(tenant) = tenant(case, &labels[0])? else { continue };
        let usage = totals.entry(tenant).or_default();
        usage.busy_s = Some(usage.busy_s.unwrap_or(0.0) + percent / 100.0 * INTERVAL_S as f64);
    }
    Ok(totals)
}

/// Whose a process is; the MPS server is nobody's: it works for its clients.
fn tenant(case: &Case, pid: &str) -> Result<Option<String>> {
    Ok(case.tenant_of_pid.get(&pid.parse::<u32>()?).cloned())
}
