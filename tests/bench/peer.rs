//! The collector beside `nvitop-exporter`, the Prometheus exporter with processes and MIG that people run today, on the
//! same library and scenario, in turns.
//!
//! Both read everything every second. The peer knows no other `/proc` than the machine's, so it finds the simulated
//! processes in NVML but not who they are, and saves that work.

use crate::node_dir::NodeDir;
use crate::{cpu, page, scenarios, shown};
use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use harness::probe::{free_port, resident_mib, venv};
use nvidia_ml::scenario::Scenario;
use simulator::library::built_library;
use simulator::live::{Collector, Setup, terminate};
use simulator::node::NodeFiles;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SECTION: &str = "peer";
const ROUNDS: usize = 3;
const CADENCE: &str = "[sample]\ngauges_ms = 1000\nprocesses_ms = 1000\n";
/// First readings, which look up what never changes, aren't counted.
const WARM_UP: Duration = Duration::from_secs(2);
const OBSERVED: Duration = Duration::from_secs(6);
/// Few, because the peer takes long for one; rounds are pooled.
const REQUESTS: usize = 30;

/// What one turn showed.
struct Turn {
    resident_mib: f64,
    /// CPU a second, which is CPU a tick for who keeps up with one tick a second.
    cpu_ms: f64,
    p50_ms: f64,
    scrapes_ms: Vec<f64>,
}

/// Runs the rounds: collector, peer, collector, peer.
///
/// # Errors
/// One of the two can't be run.
pub fn run(figures: &mut Figures) -> Result<()> {
    let scenario = scenarios::mig();
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(collector(&scenario)?);
        peer.push(exporter(&scenario)?);
    }
    let own_cpu = add(figures, "collector", &own);
    let peer_cpu = add(figures, "nvitop_exporter", &peer);
    figures.add(SECTION, "cpu_ratio", shown(peer_cpu / own_cpu), "times the collector's", Target::Shown);
    Ok(())
}

/// Adds medians and spreads of one side, and returns its CPU.
fn add(figures: &mut Figures, who: &str, turns: &[Turn]) -> f64 {
    let mut add = |name: &str, unit: &str, of: fn(&Turn) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let (median, spread) = (values[values.len() / 2], values[values.len() - 1] - values[0]);
        figures.add(SECTION, &format!("{who}_{name}"), shown(median), unit, Target::Shown);
        figures.add(SECTION, &format!("{who}_{name}_spread"), shown(spread), unit, Target::Shown);
        median
    };
    add("resident", "MiB", |turn| turn.resident_mib);
    let cpu_ms = add("cpu_per_tick", "ms", |turn| turn.cpu_ms);
    add("scrape_p50", "ms", |turn| turn.p50_ms);
    let mut all: Vec<f64> = turns.iter().flat_map(|turn| turn.scrapes_ms.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let p99_ms = all[(all.len() * 99).div_ceil(100) - 1];
    figures.add(SECTION, &format!("{who}_scrape_p99"), shown(p99_ms), "ms", Target::Shown);
    cpu_ms
}

fn collector(scenario: &Scenario) -> Result<Turn> {
    let scratch = NodeDir::new()?;
    let setup = Setup { dir: scratch.path(), cluster: "bench", server: None, more: CADENCE };
    let mut collector = Collector::start(&setup, scenario)?;
    let turn = observe(collector.pid(), collector.port(), |text| {
        page::value(text, "slicemeter_collector_ticks_total").is_ok_and(|ticks| ticks >= 1.0)
    })?;
    collector.stop()?;
    Ok(turn)
}

/// A peer that doesn't outlive its turn.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already; nothing is left to do then.
        let _ = terminate(&mut self.0);
    }
}

fn exporter(scenario: &Scenario) -> Result<Turn> {
    let scratch = NodeDir::new()?;
    let files = NodeFiles::write(scratch.path(), scenario)?;
    std::fs::copy(built_library()?, scratch.path().join("libnvidia-ml.so.1"))?;
    let program = venv()?.join("bin/nvitop-exporter");
    ensure!(program.exists(), "{} is missing: tests/setup.sh installs it", program.display());
    let port = free_port()?;
    let child = Command::new(program)
        .args(["--interval", "1", "--port", &port.to_string()])
        .env("LD_LIBRARY_PATH", scratch.path())
        .env("FAKE_NVML_SCENARIO", &files.scenario)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("start nvitop-exporter")?;
    let peer = Peer(child);
    let last = format!("pid=\"{}\"", scenarios::last_pid(scenario));
    observe(peer.0.id(), port, |text| text.contains(&last))
}

/// Waits until the page is whole, then watches the process and scrapes it.
fn observe(pid: u32, port: u16, is_whole: impl Fn(&str) -> bool) -> Result<Turn> {
    // The peer speaks HTTP/1.0.
    let url = format!("http://127.0.0.1:{port}/metrics");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !simulator::http::get(&url, None).is_ok_and(|page| is_whole(&page)) {
        ensure!(Instant::now() < deadline, "{url} had no whole page within 30 seconds");
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(WARM_UP);
    let (began, cpu_before_ms) = (Instant::now(), cpu::milliseconds(pid)?);
    std::thread::sleep(OBSERVED);
    let cpu_ms = (cpu::milliseconds(pid)? - cpu_before_ms) / began.elapsed().as_secs_f64();
    let mut scrapes_ms = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let began = Instant::now();
        simulator::http::get(&url, None)?;
        scrapes_ms.push(began.elapsed().as_secs_f64() * 1e3);
    }
    scrapes_ms.sort_by(f64::total_cmp);
    let p50_ms = scrapes_ms[REQUESTS / 2];
    Ok(Turn { resident_mib: resident_mib(pid)?, cpu_ms, p50_ms, scrapes_ms })
}
