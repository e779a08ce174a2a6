//! `make demo`: simulated nodes of every sharing kind, a month of history through the shipped collector code, then live.
//! Prints its progress, the first statement and the URL; Ctrl-C ends it and leaves nothing behind.

use anyhow::{Context, Result, bail};
use billing::period::{Period, parse_zone};
use clap::Parser;
use simulator::live::{Collector, Setup};
use simulator::node::{Cadence, SimNode, run_all};
use simulator::service::{Service, Settings};
use simulator::signals::Signals;
use simulator::{fleet, http};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CLUSTER: &str = "demo";
const ZONE: &str = "Europe/Berlin";
const DAY_MS: i64 = 86_400_000;
/// The fleet's story is told for this long from its first day; a demo that runs longer shows free devices.
const STORY_DAYS: i64 = 64;

/// A month of simulated GPU usage, from NVML to statements, then live.
#[derive(Parser)]
struct Options {
    /// End after the first statement instead of going on live
    #[arg(long)]
    once: bool,
    /// Days of history before now; the whole last month and this one if missing
    #[arg(long)]
    days: Option<i64>,
}

fn main() -> Result<()> {
    let signals = Signals::hold();
    let options = Options::parse();
    let began = Instant::now();
    let now = chrono::Utc::now();
    let zone = parse_zone(ZONE)?;
    let local = now.with_timezone(&zone);
    let last_month =
        (local.date_naive() - chrono::Days::new(u64::from(chrono::Datelike::day(&local)))).format("%Y-%m");
    let month = last_month.to_string();
    let now_ms = now.timestamp_millis() / 900_000 * 900_000;
    let first_ms = Period::parse(&month, zone)?.window().start_ms;
    let start_ms = options.days.map_or(first_ms, |days| now_ms - days * DAY_MS);
    // The month in which the history begins: early in a month, little of it has passed.
    let shown = Period::month_of(start_ms.max(first_ms), zone)?.label().to_owned();

    let dir = tempfile::Builder::new().prefix("slicemeter-demo-").tempdir()?;
    println!("Everything lies in {} and goes when you press Ctrl-C.", dir.path().display());
    println!("Starting the service with the embedded engine ...");
    let service_dir = dir.path().join("service");
    std::fs::create_dir(&service_dir)?;
    let prices = fleet::prices_toml(&month);
    let service = Service::start(
        &service_dir,
        &Settings {
            billing_zone: ZONE,
            currency: "USD",
            prices: &prices,
            tenants: fleet::TENANTS_TOML,
            more: "",
        },
    )?;
    let join = service.token(&["--join", "--backfill"])?;

    let scenarios = fleet::demo(first_ms.min(start_ms), STORY_DAYS);
    let mut credentials = Vec::new();
    let mut nodes = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let node_dir = dir.path().join(&scenario.node);
        std::fs::create_dir(&node_dir)?;
        credentials.push(http::enrol(&service.url(), &join, CLUSTER, &scenario.node)?);
        nodes.push(SimNode::new(
            &node_dir,
            CLUSTER,
            scenario,
            Cadence::BACKFILL,
            start_ms,
            index as u128 + 1,
        )?);
    }
    let devices: usize = scenarios.iter().map(|s| s.gpus.len()).sum();
    println!(
        "Backfilling {} days of {} nodes, {devices} GPUs, through the collector's code ...",
        (now_ms - start_ms) / DAY_MS,
        nodes.len()
    );
    let days = ((now_ms - start_ms + DAY_MS - 1) / DAY_MS).max(1) as usize * nodes.len();
    let done = AtomicUsize::new(0);
    let rows = Mutex::new(0);
    run_all(nodes, start_ms, now_ms, &|index, batches| {
        if signals.wait(Duration::ZERO) {
            bail!("interrupted");
        }
        let receipt = service.ship(&credentials[index], &batches)?;
        *rows.lock().expect("no holder panics") += receipt.rows;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(20) || done == days {
            println!("  {done} of {days} node-days");
        }
        Ok(())
    })?;
    println!("  {} rows stored; closing hours ...", rows.lock().expect("no holder panics"));
    service.wait_closed()?;

    let statement = service.cli(&["report", "--period", &shown, "--tenant", "vision"])?;
    println!("\n{}", String::from_utf8_lossy(&statement.stdout));
    eprint!("{}", String::from_utf8_lossy(&statement.stderr));
    println!("First statement after {:.0} s.", began.elapsed().as_secs_f64());
    if options.once {
        return Ok(());
    }

    let mut collectors = Vec::new();
    for (scenario, credential) in scenarios.iter().zip(&credentials) {
        let live_dir = dir.path().join(format!("{}-live", scenario.node));
        std::fs::create_dir(&live_dir)?;
        let setup =
            Setup { dir: &live_dir, cluster: CLUSTER, server: Some((&service.url(), credential)), more: "" };
        collectors.push((scenario.node.clone(), Collector::start(&setup, scenario)?));
    }
    let token = service.token(&["--role", "operator", "--name", "demo"])?;
    println!("\nLive now. Pages:      {}/login?token={token}", service.url());
    println!("          Service:    {}/metrics", service.url());
    for (node, collector) in &collectors {
        println!("          {node:<11} http://127.0.0.1:{}/metrics", collector.port());
    }
    println!(
        "          More:       target/release/slicemeter report --period {shown} --config {}",
        service.config().display()
    );
    println!("Ctrl-C ends it.");
    while !signals.wait(Duration::from_secs(3600)) {}
    println!("Stopping ...");
    collectors.iter().for_each(|(_, collector)| collector.ask_to_stop());
    drop(collectors);
    drop(service);
    dir.close().context("remove the demo's directory")
}
