//! A service and a few nodes in virtual time, for one story.

use anyhow::Result;
use nvidia_ml::scenario::Scenario;
use schema::wire::Batch;
use serde_json::Value;
use simulator::http;
use simulator::node::{Cadence, SimNode};
use simulator::service::{Service, Settings};
use tempfile::TempDir;

pub const CLUSTER: &str = "stage";
pub const HOUR_MS: i64 = 3_600_000;

/// Users are tenants by rule; the L40S has no price.
pub const TENANTS: &str = "\
[[tenant]]\nid = \"one\"\n[[tenant]]\nid = \"two\"\n[[tenant]]\nid = \"three\"\n\
[[rule]]\ntenant = \"one\"\nmatch = { uid = \"2001\" }\n\
[[rule]]\ntenant = \"two\"\nmatch = { uid = \"2002\" }\n\
[[rule]]\ntenant = \"three\"\nmatch = { uid = \"2003\" }\n";
pub const PRICES: &str = "\
[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100*\"\nper_gpu_hour = \"3.60\"\nfrom = \"2020-01-01\"\n";

/// A running service in a directory of its own.
pub struct Stage {
    pub service: Service,
    /// Goes after the service that writes into it.
    dir: TempDir,
    join: String,
}

impl Stage {
    pub fn new() -> Result<Self> {
        Self::with(TENANTS)
    }

    /// With a `tenants.toml` of its own.
    pub fn with(tenants: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let settings = Settings {
            billing_zone: "America/Sao_Paulo",
            currency: "USD",
            prices: PRICES,
            tenants,
            more: "",
        };
        let service = Service::start(dir.path(), &settings)?;
        let join = service.token(&["--join", "--backfill"])?;
        Ok(Self { service, dir, join })
    }

    /// A file beside the configuration.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// Edits `tenants.toml` as an operator would, while the service runs.
    pub fn write_tenants(&self, text: &str) {
        std::fs::write(self.path("tenants.toml"), text).expect("the directory is there");
    }

    pub fn enrol(&self, node: &str) -> Result<String> {
        http::enrol(&self.service.url(), &self.join, CLUSTER, node)
    }

    /// The whole bill of a period as JSON; a finding (an unpriced line) is still a bill.
    pub fn bill(&self, period: &str) -> Result<Value> {
        let output = self.service.cli(&["report", "--period", period, "--format", "json"])?;
        anyhow::ensure!(
            matches!(output.status.code(), Some(0 | 1)),
            "report: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// What a node's collector makes of a scenario from its start for so many hours.
pub fn batches(scenario: &Scenario, hours: i64, cadence: Cadence, incarnation: u128) -> Result<Vec<Batch>> {
    let dir = tempfile::tempdir()?;
    let start_ms = scenario.start_us().expect("the scenarios here state their start") / 1000;
    let mut node = SimNode::new(dir.path(), CLUSTER, scenario, cadence, start_ms, incarnation)?;
    let mut batches = node.advance_to(start_ms + hours * HOUR_MS)?;
    batches.extend(node.flush());
    Ok(batches)
}

/// Start of an hour some hours ago, Unix milliseconds, and the period (one local day or two) that holds the time since.
pub fn recent(hours_ago: i64) -> (i64, String) {
    let now = chrono::Utc::now();
    let start_ms = now.timestamp_millis() / HOUR_MS * HOUR_MS - hours_ago * HOUR_MS;
    let day =
        |ms: i64| chrono::DateTime::from_timestamp_millis(ms).expect("a near instant").format("%Y-%m-%d");
    // A day more on both sides: the zone's midnight isn't UTC's.
    let period = format!("{}..{}", day(start_ms - 24 * HOUR_MS), day(start_ms + (hours_ago + 48) * HOUR_MS));
    (start_ms, period)
}

/// GPU-hours of a tenant's statement, 0 where it has none.
pub fn gpu_hours(bill: &Value, tenant: &str) -> f64 {
    let statements = bill["statements"].as_array().expect("a bill has statements");
    statements
        .iter()
        .find(|s| s["tenant"]["id"] == tenant)
        .map_or(0.0, |s| decimal(&s["totals"]["gpu_hours"]))
}

/// GPU-hours of a part of the fleet (`free`, `unobserved`, ...), 0 where it has none.
pub fn fleet_part(bill: &Value, name: &str) -> f64 {
    let parts = bill["fleet"]["parts"].as_array().expect("a fleet has parts");
    parts.iter().find(|p| p["name"] == name).map_or(0.0, |p| decimal(&p["gpu_hours"]))
}

pub fn decimal(value: &Value) -> f64 {
    value.as_str().expect("decimals are strings").parse().expect("a decimal parses")
}
