//! A production day of 143 GPU containers, through everything: simulated nodes of eight GPUs, the shipped collector,
//! HTTP, the real service and engine, `slicemeter report`. Each container's observed and busy hours must come out as the
//! CSV has them; gaps must be unobserved and billed to nobody.
//!
//! The trace is moved to the last two days, on the same 57 s grid, so that the bill's devices don't stay silent for
//! years. Collectors sample every 9.5 s, six times in each step of the trace.

use crate::trace::{self, Container, Hours};
use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use nvidia_ml::scenario::{Event, Gpu, Process, Scenario, Seconds};
use serde_json::Value;
use simulator::node::{Cadence, SimNode, run_all};
use simulator::service::{Service, Settings};
use std::fmt::Write;
use std::path::Path;

const SECTION: &str = "gentd26";
const STEP_S: i64 = 57;
const GPUS_PER_NODE: usize = 8;
const FIRST_UID: usize = 3001;
const OBSERVED_HOURS: f64 = 2477.46;
const BUSY_HOURS: f64 = 175.18;
/// NVML_ERROR_UNKNOWN.
const NVML_UNKNOWN: u32 = 999;
const CADENCE: Cadence = Cadence { gauges_ms: 9_500, processes_ms: 9_500, window_ms: 60_000 };

/// Runs the day.
///
/// # Errors
/// The trace, the nodes or the service fail.
pub fn run(figures: &mut Figures, folder: &Path) -> Result<()> {
    let containers = trace::read(&folder.join("pod_gpu_duty_cycle_anon.tar.gz"))?;
    let first_s = containers.iter().map(|c| c.samples[0].0).min().context("an empty trace")?;
    let last_s =
        containers.iter().filter_map(|c| c.samples.last()).map(|s| s.0).max().context("an empty trace")?;
    let now_s = chrono::Utc::now().timestamp();
    let start_s = (now_s - (last_s - first_s) - 3600) / STEP_S * STEP_S;
    let end_s = start_s + (last_s - first_s);

    let dir = tempfile::tempdir()?;
    let service_dir = dir.path().join("service");
    std::fs::create_dir_all(&service_dir)?;
    let service = Service::start(
        &service_dir,
        &Settings {
            billing_zone: "UTC",
            currency: "USD",
            prices: "[[price]]\nid = \"a10\"\nmodel = \"NVIDIA A10\"\nper_gpu_hour = \"0.90\"\nfrom = \"2020-01-01\"\n",
            tenants: &tenants(&containers),
            more: "",
        },
    )?;
    let join = service.token(&["--join", "--backfill"])?;
    let mut nodes = Vec::new();
    let mut credentials = Vec::new();
    for (index, chunk) in containers.chunks(GPUS_PER_NODE).enumerate() {
        let scenario = scenario(index, chunk, first_s, start_s);
        let node_dir = dir.path().join(&scenario.node);
        std::fs::create_dir_all(&node_dir)?;
        credentials.push(simulator::http::enrol(&service.url(), &join, "acceptance", &scenario.node)?);
        nodes.push(SimNode::new(
            &node_dir,
            "acceptance",
            &scenario,
            CADENCE,
            start_s * 1000,
            index as u128 + 1,
        )?);
    }
    run_all(nodes, start_s * 1000, end_s * 1000, &|index, batches| {
        let receipt = service.ship(&credentials[index], &batches)?;
        ensure!(receipt.dead_letters == 0, "{} rows were refused", receipt.dead_letters);
        Ok(())
    })?;
    service.wait_closed()?;

    let day = |at_s: i64| {
        let at = chrono::DateTime::from_timestamp(at_s, 0).context("an instant within chrono's years")?;
        Ok::<_, anyhow::Error>(at.format("%Y-%m-%d").to_string())
    };
    let period = format!("{}..{}", day(start_s)?, day(end_s + 86_400)?);
    let bill: Value =
        serde_json::from_str(&service.cli_ok(&["report", "--period", &period, "--format", "json"])?)?;
    judge(figures, &containers, &bill)?;
    let broken = engine_count(&service_dir.join("data"), BROKEN_DEVICE_HOURS)?;
    figures.add(SECTION, "device_hours_that_do_not_add_up", broken, "device-hours", Target::AtMost(0.0));
    Ok(())
}

/// Published device-hours whose parts don't sum to the device, in either ledger.
const BROKEN_DEVICE_HOURS: &str = "SELECT count() FROM device_hourly WHERE \
    held_nano + free_nano + stranded_nano + unavailable_nano + unobserved_nano != capacity_nano OR \
    busy_nano + ghost_nano + not_busy_nano + unknown_nano != held_nano + free_nano + stranded_nano";

fn judge(figures: &mut Figures, containers: &[Container], bill: &Value) -> Result<()> {
    let mut sum = Hours::default();
    let mut worst = 0.0_f64;
    let statements = bill["statements"].as_array().context("the report has no statements")?;
    println!("container         observed h    from CSV      busy h    from CSV");
    for container in containers {
        let want = container.hours();
        let tenant = tenant_of(container);
        let lines = statements.iter().find(|s| s["tenant"]["id"] == tenant.as_str()).map(|s| &s["lines"]);
        let mut got = Hours::default();
        for line in lines.and_then(Value::as_array).into_iter().flatten() {
            got.observed += hours(&line["gpu_hours"])?;
            got.busy += hours(&line["busy_gpu_hours"])?;
        }
        println!(
            "{tenant:<16} {:>11.4} {:>11.4} {:>11.4} {:>11.4}",
            got.observed, want.observed, got.busy, want.busy
        );
        sum.observed += got.observed;
        sum.busy += got.busy;
        worst = worst.max(excess(got.observed, want.observed)).max(excess(got.busy, want.busy));
    }
    figures.add(
        SECTION,
        "observed_hours",
        sum.observed,
        "h",
        Target::Within(OBSERVED_HOURS, OBSERVED_HOURS / 1000.0),
    );
    figures.add(SECTION, "busy_hours", sum.busy, "GPU-h", Target::Within(BUSY_HOURS, BUSY_HOURS / 1000.0));
    figures.add(SECTION, "worst_container_error", worst, "of what is allowed", Target::AtMost(1.0));
    let part = |name: &str| -> Result<f64> {
        let parts = bill["fleet"]["parts"].as_array().context("the fleet has no parts")?;
        parts.iter().find(|p| p["name"] == name).map_or(Ok(0.0), |p| hours(&p["gpu_hours"]))
    };
    let gaps: i64 = containers.iter().flat_map(Container::gaps).map(|(from, to)| to - from).sum();
    let silent = part("unobserved")? - outside(bill)?;
    figures.add(SECTION, "gaps_unobserved", silent, "h", Target::AtLeast(gaps as f64 / 3600.0 * 0.999));
    let adds_up = f64::from(u8::from(bill["fleet"]["adds_up"] == true));
    figures.add(SECTION, "fleet_adds_up", adds_up, "yes", Target::AtLeast(1.0));
    Ok(())
}

/// Unobserved time that isn't a gap of the trace: from the last batch to now the collectors are silent.
fn outside(bill: &Value) -> Result<f64> {
    let capacity = hours(&bill["fleet"]["capacity_gpu_hours"])?;
    let traced = bill["fleet"]["devices"].as_f64().context("no number of devices")? * 22.8;
    Ok((capacity - traced).max(0.0))
}

fn hours(value: &Value) -> Result<f64> {
    Ok(value.as_str().context("a quantity is a decimal in a string")?.parse()?)
}

/// Error as a part of what is allowed: the larger of 1 % and one sample period of the trace.
fn excess(got: f64, want: f64) -> f64 {
    (got - want).abs() / (want * 0.01).max(STEP_S as f64 / 3600.0)
}

fn tenant_of(container: &Container) -> String {
    format!("c-{}", &container.name[..12])
}

fn tenants(containers: &[Container]) -> String {
    let mut text = String::new();
    for (index, container) in containers.iter().enumerate() {
        let (id, uid) = (tenant_of(container), FIRST_UID + index);
        write!(
            text,
            "[[tenant]]\nid = \"{id}\"\n[[rule]]\ntenant = \"{id}\"\nmatch = {{ uid = \"{uid}\" }}\n"
        )
        .expect("a string takes what is written");
    }
    text
}

/// A node of eight GPUs, a container on each; gaps are NVML errors on its device.
fn scenario(index: usize, chunk: &[Container], first_s: i64, start_s: i64) -> Scenario {
    let mut node = Scenario::new(&format!("node-{:02}", index + 1)).starting_at_us(start_s * 1_000_000);
    node.seed = index as u64;
    for (gpu, container) in chunk.iter().enumerate() {
        node.gpus.push(Gpu::new("a10"));
        let at = |unix_s: i64| Seconds::new(unix_s - first_s);
        let steps: Vec<_> = container.samples.iter().map(|(t, percent)| (at(*t), *percent)).collect();
        let (from, to) = (container.samples[0].0, container.samples[container.samples.len() - 1].0);
        node.processes.push(
            Process::new(1000 + gpu as u32, gpu)
                .alive(at(from), at(to))
                .uid((FIRST_UID + index * GPUS_PER_NODE + gpu) as u32)
                .cgroup(&format!("0::/system.slice/{}.service", tenant_of(container)))
                .busy(steps)
                .memory_mib(4096.0),
        );
        for (from, to) in container.gaps() {
            // The samples at both ends of a gap are good ones; the errors lie between them.
            node.events.push(Event::CallError {
                gpu: Some(gpu),
                function: "*".to_string(),
                from: Seconds::from_micros((from - first_s) * 1_000_000 + 1),
                to: Some(at(to)),
                code: NVML_UNKNOWN,
            });
        }
    }
    node
}

/// One number from the engine, asked as an operator would with curl.
fn engine_count(data_dir: &Path, sql: &str) -> Result<f64> {
    let endpoint: Value = serde_json::from_slice(&std::fs::read(data_dir.join("engine.json"))?)?;
    let field = |name: &str| endpoint[name].as_str().with_context(|| format!("engine.json has no {name}"));
    let answer = ureq::post(field("url")?)
        .header("X-ClickHouse-User", field("user")?)
        .header("X-ClickHouse-Key", field("secret")?)
        .query("database", "slicemeter")
        .send(sql)?
        .body_mut()
        .read_to_string()?;
    Ok(answer.trim().parse()?)
}
