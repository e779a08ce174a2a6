//! A production cluster's 8,152 pods that asked for whole GPUs and fractions, as history: `slicemeter import allocations`, the
//! real engine and hour close, `slicemeter report`. GPU-hours must be what the CSV itself sums to, in all and per QoS class, each
//! at its own price, and a second import must add nothing.

use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use serde_json::Value;
use simulator::service::{Service, Settings};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

const SECTION: &str = "openb";
const FILE: &str = "openb_pod_list_gpushare40.csv";
const GPU_HOURS: f64 = 42_418.002;
/// Class, tenant, GPU-hours and price of a GPU-hour.
const CLASSES: [(&str, &str, f64, f64); 4] = [
    ("LS", "ls", 35_667.427, 2.00),
    ("Burstable", "burstable", 3_659.873, 1.50),
    ("BE", "be", 1_806.203, 0.80),
    ("Guaranteed", "guaranteed", 1_284.499, 2.50),
];
/// The trace's own rounding: three decimals.
const ROUNDING: f64 = 0.0005;
/// The trace has seconds since its start, and is longer than a quarter.
const ORIGIN: &str = "2025-01-01T00:00Z";
const PERIOD: &str = "2025-01-01..2025-06-30";

/// Runs the import.
///
/// # Errors
/// The file or the service fails.
pub fn run(figures: &mut Figures, folder: &Path) -> Result<()> {
    let file = folder.join(FILE);
    let file = file.to_str().context("a path in UTF-8")?;
    let dir = tempfile::tempdir()?;
    let (tenants, prices) = (tenants(), prices());
    let settings =
        Settings { billing_zone: "UTC", currency: "USD", prices: &prices, tenants: &tenants, more: "" };
    let service = Service::start(dir.path(), &settings)?;
    let import = |more: &[&str]| {
        let args = ["import", "allocations", file, "--cluster", "openb", "--model", "openb GPU"];
        let times = ["--time-origin", ORIGIN];
        let maps = ["name=job", "qos=qos", "num_gpu=gpus", "gpu_milli=milli", "scheduled_time=start"];
        let maps = maps.into_iter().chain(["deletion_time=end", "creation_time=submit"]);
        let maps: Vec<&str> = maps.flat_map(|map| ["--map", map]).collect();
        service.cli_ok(&[&args[..], &times[..], &maps[..], more].concat())
    };
    let dry = import(&["--dry-run"])?;
    ensure!(dry.contains("would add 6119 runs of 42418.002"), "a dry run said:\n{dry}");
    let started = Instant::now();
    print!("{}", import(&[])?);
    figures.add(SECTION, "import", started.elapsed().as_secs_f64(), "s", Target::AtMost(30.0));
    let closing = Instant::now();
    service.wait_closed()?;
    figures.add(SECTION, "close_of_3585_hours", closing.elapsed().as_secs_f64(), "s", Target::Shown);
    judge(figures, &bill(&service)?)?;
    let again = import(&[])?;
    ensure!(again.contains("added 0 runs") && again.contains("6119 rows are counted already"), "{again}");
    service.wait_closed()?;
    let second = total(&bill(&service)?)?;
    figures.add(
        SECTION,
        "gpu_hours_after_a_second_import",
        second,
        "GPU-h",
        Target::Within(GPU_HOURS, ROUNDING),
    );
    Ok(())
}

fn bill(service: &Service) -> Result<Value> {
    Ok(serde_json::from_str(&service.cli_ok(&["report", "--period", PERIOD, "--format", "json"])?)?)
}

fn judge(figures: &mut Figures, bill: &Value) -> Result<()> {
    figures.add(SECTION, "gpu_hours", total(bill)?, "GPU-h", Target::Within(GPU_HOURS, ROUNDING));
    for (class, tenant, hours, price) in CLASSES {
        let totals = totals_of(bill, tenant)?;
        let paid = decimal(&totals["amount"])? / decimal(&totals["gpu_hours"])?;
        // Lines are rounded to cents, each once.
        figures.add(SECTION, &format!("price_{tenant}"), paid, "USD/GPU-h", Target::Within(price, 0.0005));
        let figure = format!("gpu_hours_{tenant}");
        figures.add(
            SECTION,
            &figure,
            decimal(&totals["gpu_hours"])?,
            "GPU-h",
            Target::Within(hours, ROUNDING),
        );
        ensure!(totals["unpriced_lines"] == 0, "{class} has lines without a price");
    }
    let adds_up = f64::from(u8::from(bill["fleet"]["adds_up"] == true));
    figures.add(SECTION, "fleet_adds_up", adds_up, "yes", Target::AtLeast(1.0));
    let part = |name: &str| {
        let parts = bill["fleet"]["parts"].as_array().context("the fleet has no parts")?;
        parts.iter().find(|p| p["name"] == name).map_or(Ok(0.0), |p| decimal(&p["gpu_hours"]))
    };
    // Nothing of a pool is free, and nobody is without a class.
    let others = part("free")? + part("unobserved")? + part("unattributed")?;
    figures.add(SECTION, "gpu_hours_of_nobody", others, "GPU-h", Target::AtMost(0.0));
    Ok(())
}

fn total(bill: &Value) -> Result<f64> {
    CLASSES.iter().map(|(_, tenant, ..)| decimal(&totals_of(bill, tenant)?["gpu_hours"])).sum()
}

fn totals_of<'a>(bill: &'a Value, tenant: &str) -> Result<&'a Value> {
    let statements = bill["statements"].as_array().context("the report has no statements")?;
    let own = statements.iter().find(|s| s["tenant"]["id"] == tenant);
    Ok(&own.with_context(|| format!("{tenant} has no statement"))?["totals"])
}

fn decimal(value: &Value) -> Result<f64> {
    Ok(value.as_str().context("a quantity is a decimal in a string")?.parse()?)
}

fn tenants() -> String {
    let mut text = String::new();
    for (class, tenant, ..) in CLASSES {
        writeln!(
            text,
            "[[tenant]]\nid = \"{tenant}\"\n[[rule]]\ntenant = \"{tenant}\"\nmatch = {{ slurm_qos = \"{class}\" }}"
        )
        .expect("a string takes what is written");
    }
    text
}

/// One model, a price for each class.
fn prices() -> String {
    let mut text = String::new();
    for (class, tenant, _, price) in CLASSES {
        writeln!(
            text,
            "[[price]]\nid = \"openb-{tenant}\"\nmodel = \"openb GPU\"\nqos = \"{class}\"\n\
             per_gpu_hour = \"{price:.2}\"\nfrom = \"2020-01-01\""
        )
        .expect("a string takes what is written");
    }
    text
}
