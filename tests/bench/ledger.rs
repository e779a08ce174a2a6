//! A month of 25,000 GPUs in the ledger, 54 million hourly rows: how long a complete rating takes, then the statements of
//! all tenants and of one, through the command line against the real engine. Nothing but the hourly rows is made up: they
//! are put into the store as the hour close would have published them.

use crate::shown;
use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use serde_json::Value;
use simulator::library::built;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SECTION: &str = "ledger";
/// 2026-09-01T00:00:00Z, Unix seconds; the month has 30 days.
const START_S: u64 = 1_788_220_800;
const DAYS: u64 = 30;
const DEVICES: u64 = 25_000;
/// Rows of usage of a device and hour.
const ROWS_PER_DEVICE: u64 = 3;
const TENANTS: u64 = 100;
const REVISION: u64 = 1;
const PERIOD: &str = "2026-09";

/// Fills a ledger under `disk` and reads it.
///
/// # Errors
/// The engine or a command fails, or the statements aren't the fleet.
pub fn run(figures: &mut Figures, disk: &Path) -> Result<()> {
    let scratch = tempfile::tempdir_in(disk)?;
    let bench = Bench::start(scratch.path())?;
    bench.fill()?;
    let rows = bench.count("SELECT count() FROM usage_hourly")?;
    ensure!(rows == (DEVICES * ROWS_PER_DEVICE * DAYS * 24) as f64, "{rows} rows were put in");
    let mut add = |name: &str, value: f64, unit: &str, target: Target| {
        figures.add(SECTION, name, shown(value), unit, target);
    };
    let out = scratch.path().join("statements");
    let all = ["report", "--period", PERIOD, "--format", "json", "--output"];
    let (rerate_s, rerate_mib) = bench.timed(&all, &out)?;
    let (all_s, all_mib) = bench.timed(&all, &out)?;
    let file = scratch.path().join("one.json");
    let one = ["report", "--period", PERIOD, "--tenant", "team-07", "--format", "json", "--output"];
    let (one_s, _) = bench.timed(&one, &file)?;
    let statement: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let held: f64 = statement["totals"]["gpu_hours"].as_str().context("a quantity")?.parse()?;
    ensure!(held > 0.0, "the tenant held nothing");
    add("rows", rows, "rows", Target::Shown);
    add("rate_all", rerate_s, "s", Target::AtMost(120.0));
    add("statements_all", all_s, "s", Target::AtMost(2.0));
    add("statement_one", one_s, "s", Target::AtMost(0.5));
    add("memory_rating", rerate_mib, "MiB", Target::AtMost(64.0));
    add("memory_statements", all_mib, "MiB", Target::AtMost(64.0));
    Ok(())
}

/// A configuration, an engine of its own, and a filled ledger.
struct Bench {
    engine: Child,
    config: PathBuf,
    data: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It may have ended already; its data goes with the directory.
        let _ = self.engine.kill();
        let _ = self.engine.wait();
    }
}

impl Bench {
    fn start(dir: &Path) -> Result<Self> {
        let (config, data) = (dir.join("slicemeter.toml"), dir.join("data"));
        std::fs::write(
            &config,
            format!(
                "billing_zone = \"UTC\"\ncurrency = \"USD\"\n[engine]\ndata_dir = {data:?}\nmemory_mib = 8192\n"
            ),
        )?;
        let prices = "[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100*\"\nper_gpu_hour = \"3.50\"\nfrom = 2026-01-01\n\
            [[price]]\nid = \"h100-new\"\nmodel = \"NVIDIA H100*\"\nper_gpu_hour = \"3.36\"\nfrom = 2026-09-16\n";
        std::fs::write(dir.join("prices.toml"), prices)?;
        std::fs::write(dir.join("tenants.toml"), "")?;
        let engine = Command::new(built("slicemeter")?)
            .arg("engine")
            .arg("--config")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start slicemeter engine")?;
        let bench = Self { engine, config, data };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !bench.data.join("engine.json").exists() {
            ensure!(Instant::now() < deadline, "the engine didn't come up within a minute");
            std::thread::sleep(Duration::from_millis(50));
        }
        let migrate =
            Command::new(built("slicemeter")?).arg("migrate").arg("--config").arg(&bench.config).output()?;
        ensure!(migrate.status.success(), "migrate: {}", String::from_utf8_lossy(&migrate.stderr));
        Ok(bench)
    }

    /// Time-sliced devices, three workloads each; jobs of eight devices that change every day.
    fn fill(&self) -> Result<()> {
        for day in 0..DAYS {
            let (start_s, rows) = (START_S + day * 86_400, DEVICES * 24);
            let place = "'bench', concat('n', toString(intDiv(device, 8))), concat('GPU-', toString(device)), 'NVIDIA H100 80GB HBM3'";
            let hour = format!(
                "{start_s} + intDiv(number, {DEVICES}) * 3600 AS hour_s, number % {DEVICES} AS device"
            );
            self.sql(&format!(
                "INSERT INTO usage_hourly SELECT toDateTime(hour_s, 'UTC'), {REVISION}, hour_s * 1000, (hour_s + 3600) * 1000, {place}, \
                 toUInt128({day} * 1000000 + intDiv(device, 8) * 10 + slot), -1, -1, '', 2, 1, 3, 1, 1, 1, 3600000, \
                 333333333 + (slot = 0), 100000000, 0, toUInt128(3600000) * 1000000000, 800000, false \
                 FROM (SELECT {hour}, arrayJoin([0, 1, 2]) AS slot FROM numbers({rows}))"
            ))?;
            self.sql(&format!(
                "INSERT INTO device_hourly SELECT toDateTime(hour_s, 'UTC'), {REVISION}, hour_s * 1000, (hour_s + 3600) * 1000, {place}, \
                 1000000000, 1000000000, 0, 0, 0, 0, 300000000, 0, 700000000, 0, 2500000, 100000, 0, 0, false, false \
                 FROM (SELECT {hour} FROM numbers({rows}))"
            ))?;
            self.sql(&format!(
                "INSERT INTO owners SELECT toUInt128({day} * 1000000 + intDiv(number, 3) * 10 + number % 3), 1, \
                 map('namespace', concat('team-', leftPad(toString(intDiv(number, 3) % {TENANTS}), 2, '0')), 'pod', concat('train-', toString(number)), 'pod_uid', toString(number)), \
                 'bench', concat('n', toString(intDiv(number, 3))), '0::/kubepods.slice/pod' FROM numbers({})",
                DEVICES / 8 * ROWS_PER_DEVICE
            ))?;
        }
        self.sql(&format!(
            "INSERT INTO hour_pointers SELECT toDateTime({START_S} + number * 3600, 'UTC'), {REVISION}, 1, 1, {DEVICES} * 1000000000, {DEVICES} * {ROWS_PER_DEVICE}, {DEVICES}, 0 FROM numbers({})",
            DAYS * 24
        ))?;
        Ok(())
    }

    /// Seconds that a command takes, and the most memory that it held, MiB; the engine is a process apart.
    fn timed(&self, args: &[&str], output: &Path) -> Result<(f64, f64)> {
        let began = Instant::now();
        let mut child = Command::new(built("slicemeter")?)
            .args(args)
            .arg(output)
            .arg("--config")
            .arg(&self.config)
            .stderr(Stdio::null())
            .spawn()?;
        let status_file = format!("/proc/{}/status", child.id());
        let mut peak_mib = 0.0_f64;
        let status = loop {
            if let Ok(status) = std::fs::read_to_string(&status_file) {
                let kib = status
                    .lines()
                    .find_map(|l| l.strip_prefix("VmHWM:"))
                    .and_then(|l| l.trim().strip_suffix(" kB"));
                peak_mib =
                    peak_mib.max(kib.and_then(|k| k.trim().parse::<f64>().ok()).unwrap_or(0.0) / 1024.0);
            }
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        ensure!(status.success(), "slicemeter {}: {status}", args.join(" "));
        Ok((began.elapsed().as_secs_f64(), peak_mib))
    }

    fn count(&self, sql: &str) -> Result<f64> {
        Ok(self.sql(sql)?.trim().parse()?)
    }

    fn sql(&self, sql: &str) -> Result<String> {
        let endpoint: Value = serde_json::from_slice(&std::fs::read(self.data.join("engine.json"))?)?;
        let field =
            |name: &str| endpoint[name].as_str().with_context(|| format!("engine.json has no {name}"));
        let mut answer = ureq::post(field("url")?)
            .header("X-ClickHouse-User", field("user")?)
            .header("X-ClickHouse-Key", field("secret")?)
            .query("database", "slicemeter")
            .config()
            .http_status_as_error(false)
            .build()
            .send(sql)?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(
            answer.status().is_success(),
            "{}: {text}",
            sql.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
        );
        Ok(text)
    }
}
