//! Two months whose statements have a row of every kind, made by the shipped programs: simulated GPUs, collector code, service
//! and command line. The first is closed; the second has what was posted and corrected after.

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, TimeZone, Utc};
use nvidia_ml::scenario::{Gpu, GpuInstance, Process, Scenario};
use schema::wire::Batch;
use serde_json::Value;
use simulator::http;
use simulator::node::{Cadence, SimNode};
use simulator::service::{Service, Settings};
use tempfile::TempDir;

const HOUR_MS: i64 = 3_600_000;
const CLUSTER: &str = "focus";
const NODE: &str = "n1";
/// Hours in the first month and in the second.
const HOURS: [i64; 2] = [4, 2];
/// The device that is reserved.
const RESERVED: &str = "GPU-00000000-0000-0000-0000-0000000000a3";

const TENANTS: &str = "\
[[tenant]]\nid = \"one\"\nname = \"One & Co\"\ncost_centre = \"4711\"\n[[tenant]]\nid = \"two\"\ncost_centre = \"4712\"\n[[tenant]]\nid = \"three\"\n\
[[rule]]\ntenant = \"one\"\nmatch = { uid = \"2001\" }\n\
[[rule]]\ntenant = \"two\"\nmatch = { uid = \"2002\" }\n\
[[rule]]\ntenant = \"three\"\nmatch = { uid = \"2003\" }\n";

const PRICES: &str = "\
[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100*\"\nper_gpu_hour = \"3.60\"\nfrom = 2020-01-01\n\
[[price]]\nid = \"l40s\"\nmodel = \"NVIDIA L40S\"\ntier_mode = \"graduated\"\nfrom = 2020-01-01\n\
tiers = [{ up_to = \"1\", per_gpu_hour = \"1.21\" }, { per_gpu_hour = \"1.03\" }]\n\
[[discount]]\nid = \"one-less\"\ntenant = \"one\"\npercent = \"7.5\"\nfrom = 2020-01-01\n\
[[basis]]\ntenant = \"three\"\ncharge = { held = \"0.5\", busy = \"0.5\" }\nfrom = 2020-01-01\n\
[[energy]]\nid = \"grid\"\nper_kwh = \"0.24\"\npue = \"1.25\"\nfrom = 2020-01-01\n\
[[reservation]]\nid = \"h100-two\"\ntenant = \"two\"\ndevices = [\"GPU-00000000-0000-0000-0000-0000000000a3\"]\nper_gpu_hour = \"3.00\"\nfrom = 2020-01-01\n\
[[fee]]\nid = \"support\"\ntenant = \"*\"\nwhat = \"support\"\nper_month = \"12.34\"\nfrom = 2020-01-01\n\
[[overhead]]\nid = \"network\"\nwhat = \"network\"\nper_month = \"90.00\"\nfrom = 2020-01-01\n\
[[allocation]]\nid = \"network-shares\"\ncost = \"overhead\"\nby = { one = \"60\", two = \"40\" }\nfrom = 2020-01-01\n\
[[allocation]]\nid = \"free-by-use\"\ncost = \"free\"\nby = \"usage\"\nfrom = 2020-01-01\n\
[[tax]]\nid = \"vat\"\ntenant = \"two\"\nwhat = \"VAT\"\npercent = \"19\"\nfrom = 2020-01-01\n";

const MORE: &str = "mode = \"chargeback\"\n[organisation]\nname = \"Acme Research\"\naccount_id = \"acme\"\nregion = \"lab-1\"\n\
[journal]\ncost_centre = \"9000\"\naccount = \"4400\"\ntenant_account = \"6400\"\n";

/// A service with the two months.
pub struct EveryKind {
    /// It runs until this is dropped.
    pub service: Service,
    /// `2026-09`, closed.
    pub closed: String,
    /// `2026-10`, open.
    pub open: String,
    /// `2026-11`, the month after both.
    pub after: String,
    _dir: TempDir,
}

impl EveryKind {
    /// Makes the months.
    ///
    /// # Errors
    /// A program fails or refuses.
    pub fn make() -> Result<Self> {
        let ([closed, open, after], end_ms) = months()?;
        let start_ms = end_ms - HOURS[0] * HOUR_MS;
        let made = batches(start_ms)?;
        let dir = tempfile::tempdir()?;
        let settings =
            Settings { billing_zone: "UTC", currency: "USD", prices: PRICES, tenants: TENANTS, more: MORE };
        let service = Service::start(dir.path(), &settings)?;
        let join = service.token(&["--join", "--backfill"])?;
        let credential = http::enrol(&service.url(), &join, CLUSTER, NODE)?;
        in_service(&service, &made, start_ms, end_ms + HOURS[1] * HOUR_MS)?;
        // A batch of the first month comes when it is closed.
        let late_at = made.iter().position(|b| b.sequence == 3).context("a third batch")?;
        let (late, punctual): (Vec<_>, Vec<_>) =
            made.into_iter().enumerate().partition(|(at, _)| *at == late_at);
        let only = |batches: Vec<(usize, Batch)>| batches.into_iter().map(|(_, b)| b).collect::<Vec<_>>();
        service.ship(&credential, &only(punctual))?;
        service.wait_closed()?;
        let mut close = vec!["period", "close", &closed, "--author", "ada"];
        for item in ["coverage", "unpriced", "unattributed"] {
            close.extend(["--waive", item, "--reason", "a story"]);
        }
        service.cli_ok(&close)?;
        service.ship(&credential, &only(late))?;
        service.wait_closed()?;
        let into = ["--into", &open, "--reason", "a batch came late"];
        let said = service.cli_ok(&[&["period", "correct", &closed], &into[..]].concat())?;
        ensure!(!said.starts_with("0 corrections"), "nothing was late: {said}");
        for (kind, amount, tenant) in
            [("credit", "--amount=-1.50", "one"), ("adjustment", "--amount=2.25", "two")]
        {
            let what = ["adjust", "add", "--period", &open, "--kind", kind, "--tenant", tenant];
            service.cli_ok(&[&what[..], &[amount, "--reason", "agreed", "--author", "ada"]].concat())?;
        }
        let invoice =
            ["adjust", "reconcile", "--period", &open, "--invoice", "cloud 77", "--total", "500.00"];
        service.cli_ok(&invoice)?;
        Ok(Self { service, closed, open, after, _dir: dir })
    }

    /// A month's bill.
    ///
    /// # Errors
    /// There is none.
    pub fn bill(&self, period: &str) -> Result<Value> {
        let output = self.service.cli(&["report", "--period", period, "--format", "json"])?;
        // An unpriced line is a finding, and still a bill.
        ensure!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The last month that ended before the hours after it, and the two after it; and its end, Unix milliseconds.
fn months() -> Result<([String; 3], i64)> {
    let at = DateTime::from_timestamp_millis(Utc::now().timestamp_millis() - (HOURS[1] + 1) * HOUR_MS)
        .context("a near instant")?;
    let first = NaiveDate::from_ymd_opt(at.year(), at.month(), 1).context("a first day")?;
    let label = |date: NaiveDate| date.format("%Y-%m").to_string();
    let before = first.pred_opt().context("a day before")?;
    let end_ms = Utc.from_utc_datetime(&first.and_time(NaiveTime::MIN)).timestamp_millis();
    let after = first.checked_add_months(chrono::Months::new(1)).context("a month after")?;
    Ok(([label(before), label(first), label(after)], end_ms))
}

/// A whole device, one under MIG, a shared one, a reserved one that is lent, one charged by a blend, one without a price.
fn node(start_ms: i64) -> Scenario {
    let mut node = Scenario::new(NODE).starting_at_us(start_ms * 1000);
    let mig = vec![GpuInstance::new(1, "3g.40gb"), GpuInstance::new(2, "2g.20gb")];
    node.gpus.push(Gpu::new("h100"));
    node.gpus.push(Gpu::new("h100").with_mig(mig));
    node.gpus.push(Gpu::new("l40s"));
    let mut reserved = Gpu::new("h100");
    reserved.uuid = Some(RESERVED.into());
    node.gpus.push(reserved);
    node.gpus.push(Gpu::new("h100"));
    node.gpus.push(Gpu::new("b200"));
    let hours = |h: i64| h * 3600;
    let unit = |name: &str| format!("0::/system.slice/{name}.service");
    let all = hours(HOURS[0] + HOURS[1]);
    let process = |pid, gpu, uid, until| Process::new(pid, gpu).uid(uid).alive(0, until).memory_mib(8_000.0);
    node.processes.push(process(4001, 0, 2001, hours(3)).cgroup(&unit("train")).busy(50.0));
    node.processes.push(process(4002, 1, 2002, all).on_instance(1, 0).cgroup(&unit("serve")).busy(40.0));
    node.processes.push(process(4003, 2, 2001, all).cgroup(&unit("a")).busy(20.0));
    node.processes.push(process(4004, 2, 2002, all).cgroup(&unit("b")).busy(30.0));
    node.processes.push(process(4005, 3, 2001, hours(2)).cgroup(&unit("lent")).busy(90.0));
    node.processes.push(process(4006, 4, 2003, all).cgroup(&unit("blend")).busy(60.0));
    node.processes.push(process(4007, 5, 2003, all).cgroup(&unit("new")).busy(10.0));
    node.processes.push(process(4008, 0, 9999, all).cgroup(&unit("stranger")).busy(5.0));
    node
}

fn batches(start_ms: i64) -> Result<Vec<Batch>> {
    let dir = tempfile::tempdir()?;
    let mut node = SimNode::new(dir.path(), CLUSTER, &node(start_ms), Cadence::BACKFILL, start_ms, 7)?;
    let mut batches = node.advance_to(start_ms + (HOURS[0] + HOURS[1]) * HOUR_MS)?;
    batches.extend(node.flush());
    Ok(batches)
}

/// The devices are in service for the story's hours alone.
fn in_service(service: &Service, made: &[Batch], start_ms: i64, end_ms: i64) -> Result<()> {
    let at = |at_ms: i64| -> Result<String> {
        let at = DateTime::from_timestamp_millis(at_ms).context("a near instant")?;
        Ok(at.format("%Y-%m-%dT%H:%M").to_string())
    };
    let (from, to) = (at(start_ms)?, at(end_ms)?);
    for device in &made[0].devices {
        let what = ["--cluster", CLUSTER, "--device", &device.uuid];
        let expect = ["--node", NODE, "--model", &device.model, "--from", &from];
        service.cli_ok(&[&["inventory", "expect"], &what[..], &expect].concat())?;
        service.cli_ok(&[&["inventory", "retire"], &what[..], &["--at", &to]].concat())?;
    }
    Ok(())
}
