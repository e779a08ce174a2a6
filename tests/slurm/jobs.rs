//! Jobs of a real Slurm under two accounts, on simulated GPUs, through the real collector and the real service, down to
//! statements that name accounts and jobs.
//!
//! What each job does is known: one computes, one holds its GPU idle and is cancelled, two share a GPU by shards, and a
//! process outside Slurm computes on the idle job's GPU.

use anyhow::{Context, Result, ensure};
use collector::spool::Spool;
use harness::slurm::{Job, JobState, Slurm};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use prost::Message;
use schema::owner::key;
use schema::wire::{Batch, OwnerKind, Quality, Reason, UsageSlice};
use simulator::live::{Collector, Setup};
use simulator::service::{Service, Settings};
use std::path::Path;
use std::time::{Duration, Instant};

const PRICES: &str =
    "[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100*\"\nper_gpu_hour = \"3600\"\nfrom = 2026-01-01\n";

/// Seconds to be metered of each stretch: before the collector is stopped, before the idle job ends, and after.
const METERED_S: f64 = 8.0;

/// Short windows, so that seconds suffice.
const CADENCE: &str =
    "[sample]\ngauges_ms = 500\nprocesses_ms = 1000\nwindow_ms = 5000\n[kubernetes]\nenabled = \"off\"\n";

struct Jobs {
    computing: u64,
    idle: u64,
    quarter: u64,
    half: u64,
}

/// A row with its owner's attributes.
struct Row {
    slice: UsageSlice,
    device: String,
    owner: schema::owner::Owner,
}

impl Row {
    fn attribute(&self, name: &str) -> &str {
        self.owner.attributes.get(name).map_or("", String::as_str)
    }

    fn held_gpu_ms(&self) -> f64 {
        let held_ms = self.slice.allocated_ms.or(self.slice.resident_ms).unwrap_or(0) as f64;
        held_ms * f64::from(self.slice.share_num) / f64::from(self.slice.share_den)
    }
}

#[test]
fn statements_name_the_accounts_and_jobs_of_a_real_slurm_and_their_hours() -> Result<()> {
    let slurm = Slurm::start(3)?;
    let jobs = submit(&slurm)?;
    let computing = slurm.wait_for(jobs.computing, "RUNNING")?;
    let idle = slurm.wait_for(jobs.idle, "RUNNING")?;
    let shared = slurm.wait_for(jobs.half, "RUNNING")?;
    slurm.wait_for(jobs.quarter, "RUNNING")?;
    ensure!(computing.index()? != idle.index()?, "two jobs have one GPU");
    ensure!(shared.index()? == 2, "shards are of the last GPU");

    let folder = tempfile::tempdir()?;
    let scenario = scenario(&slurm, &jobs, &computing, &idle)?;
    let (batches, ended) = meter(&slurm, &jobs, &scenario, folder.path(), idle.index()?)?;
    let rows = rows(&batches);
    check_rows(&rows, &jobs, &ended);
    check_statements(&rows, &jobs, &batches, folder.path())
}

fn submit(slurm: &Slurm) -> Result<Jobs> {
    let pid_file = slurm.folder().join("$SLURM_JOB_ID.pid").display().to_string();
    let script = format!("echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 3600");
    let hand_in = |account, gres| slurm.submit(&Job { account, gres, script: &script });
    Ok(Jobs {
        computing: hand_in("vision", "gpu:1")?,
        idle: hand_in("speech", "gpu:1")?,
        quarter: hand_in("vision", "shard:1")?,
        half: hand_in("speech", "shard:2")?,
    })
}

/// The GPUs as the driver would show them: the computing job's real process with what `/proc` says of it, and a process
/// of a user who was given nothing on the idle job's GPU.
fn scenario(slurm: &Slurm, jobs: &Jobs, computing: &JobState, idle: &JobState) -> Result<Scenario> {
    let file = slurm.folder().join(format!("{}.pid", jobs.computing));
    let until = Instant::now() + Duration::from_secs(60);
    let pid: u32 = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) => break text.trim().parse()?,
            Err(error) => ensure!(Instant::now() < until, "the job never wrote its process id: {error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let mut process = Process::new(pid, computing.index()? as usize).alive(-5, 86_400).busy(60.0).uid(0);
    process.cgroup = read("cgroup")?.lines().map(str::to_owned).collect();
    process.environ =
        read("environ")?.split('\0').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    let stranger = Process::new(4_000_001, idle.index()? as usize).alive(-5, 86_400).busy(30.0).uid(4242);
    let now_us = chrono::Utc::now().timestamp_micros();
    let mut scenario = Scenario::new(slurm.node()).starting_at_us(now_us);
    scenario.gpus = vec![Gpu::new("h100"), Gpu::new("h100"), Gpu::new("h100")];
    scenario.processes = vec![process, stranger.cgroup("0::/user.slice/user-4242.slice/session-1.scope")];
    scenario.check()?;
    Ok(scenario)
}

/// Runs the collector for some seconds, stops and starts it, ends the idle job, and goes on for some more; what it made,
/// and how Slurm says that the job ended.
fn meter(
    slurm: &Slurm,
    jobs: &Jobs,
    scenario: &Scenario,
    folder: &Path,
    idle: u32,
) -> Result<(Vec<Batch>, JobState)> {
    let more = format!(
        "{CADENCE}[slurm]\nnode = \"{}\"\nconf_file = {:?}\npoll_ms = 1000\n",
        slurm.node(),
        slurm.conf().display().to_string()
    );
    let directory = folder.join("collector");
    std::fs::create_dir(&directory)?;
    let setup = Setup { dir: &directory, cluster: "lab", server: None, more: &more };
    let until = |collector: &Collector, kind: &str| -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(120);
        while held_seconds(collector.port(), idle, kind)? < METERED_S {
            ensure!(Instant::now() < deadline, "{kind} never held {METERED_S} s:\n{}", collector.log());
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    };
    let mut first = Collector::start(&setup, scenario)?;
    until(&first, "slurm")?;
    first.stop()?;
    let mut second = Collector::start(&setup, scenario)?;
    until(&second, "slurm")?;
    let ended = slurm.cancel(jobs.idle)?;
    until(&second, "user")?;
    second.stop()?;
    let settings = collector::config::Spool { directory: directory.join("state"), ..Default::default() };
    let chunk = Spool::open(&settings)?.read(usize::MAX);
    let batches: Result<Vec<Batch>, _> =
        chunk.batches.iter().map(|bytes| Batch::decode(&bytes[..])).collect();
    Ok((batches?, ended))
}

/// Device time that owners of a kind held of the GPU with this index, by the collector's own page.
fn held_seconds(port: u16, index: u32, kind: &str) -> Result<f64> {
    let page = simulator::http::get(&format!("http://127.0.0.1:{port}/metrics"), None)?;
    let label = format!("gpu_index=\"{index}\"");
    let Some(info) =
        page.lines().find(|line| line.starts_with("slicemeter_gpu_info{") && line.contains(&label))
    else {
        return Ok(0.0);
    };
    let uuid = info.split("gpu_uuid=\"").nth(1).and_then(|rest| rest.split('"').next()).context("a UUID")?;
    let is = |line: &&str| {
        line.starts_with("slicemeter_usage_held_seconds_total{") && line.contains(uuid) && line.contains(kind)
    };
    Ok(page.lines().find(is).and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0))
}

fn rows(batches: &[Batch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        for slice in &batch.usage {
            let Some(owner) = slice.owner else { continue };
            let owner = schema::owner::Owner::from_wire(&batch.owners[owner as usize]);
            rows.push(Row {
                slice: *slice,
                device: batch.devices[slice.device as usize].uuid.clone(),
                owner,
            });
        }
    }
    rows.sort_by_key(|row| row.slice.start_ms);
    rows
}

fn check_rows(rows: &[Row], jobs: &Jobs, ended: &JobState) {
    let of = |job: u64| -> Vec<&Row> {
        let id = job.to_string();
        rows.iter().filter(|row| row.attribute(key::SLURM_JOB) == id).collect()
    };
    let (computing, idle, quarter, half) =
        (of(jobs.computing), of(jobs.idle), of(jobs.quarter), of(jobs.half));
    for (job, account) in [(&computing, "vision"), (&idle, "speech"), (&quarter, "vision"), (&half, "speech")]
    {
        assert!(!job.is_empty(), "a job of {account} has no row");
        for row in job {
            assert_eq!(row.attribute(key::SLURM_ACCOUNT), account);
            assert_eq!(row.attribute(key::USER), "root");
            assert_eq!(row.attribute("slurm_partition"), "gpu");
        }
        for pair in job.windows(2) {
            assert_eq!(pair[0].slice.end_ms, pair[1].slice.start_ms, "a hold has a hole");
        }
    }
    assert!(computing.iter().map(|row| row.slice.busy_ms.unwrap_or(0)).sum::<u64>() > 4_000);
    assert!(computing.iter().any(|row| row.owner.evidence.contains("squeue")));

    // While no collector ran, Slurm's record alone says who held what, and nobody knows what they did.
    let is_gap = |row: &&Row| row.slice.unknown_reason == Reason::CollectorStopped as i32;
    for job in [&computing, &idle, &quarter, &half] {
        let in_gap: Vec<&Row> = job.iter().copied().filter(is_gap).collect();
        assert!(!in_gap.is_empty(), "the gap isn't held");
        for row in in_gap {
            assert_eq!((row.slice.resident_ms, row.slice.busy_ms), (None, None));
            assert_eq!(row.slice.held_quality, Quality::Allocated as i32);
        }
    }
    let mut observed = idle.iter().copied().filter(|row| !is_gap(row));
    assert!(observed.all(|row| row.slice.resident_ms == Some(0) && row.slice.busy_ms == Some(0)));
    let last = idle.last().expect("rows").slice;
    assert_eq!(last.end_ms, ended.end_s * 1000, "the hold ends with the second in which Slurm ended the job");
    let share = |row: &Row| (row.slice.share_num, row.slice.share_den);
    assert!(quarter.iter().all(|row| share(row) == (1, 4)) && half.iter().all(|row| share(row) == (1, 2)));

    let stranger: Vec<&Row> = rows.iter().filter(|row| row.owner.kind == OwnerKind::User).collect();
    assert!(stranger.iter().all(|row| row.device == idle[0].device));
    for row in stranger {
        let while_given = row.slice.end_ms <= last.end_ms;
        let want = if while_given { Some(0) } else { None };
        assert_eq!(row.slice.allocated_ms, want, "it holds what nobody was given, and nothing else");
    }
}

fn check_statements(rows: &[Row], jobs: &Jobs, batches: &[Batch], folder: &Path) -> Result<()> {
    let directory = folder.join("service");
    std::fs::create_dir(&directory)?;
    let settings = Settings { billing_zone: "UTC", currency: "USD", prices: PRICES, tenants: "", more: "" };
    let service = Service::start(&directory, &settings)?;
    let credential =
        simulator::http::enrol(&service.url(), &service.token(&["--join"])?, "lab", &batches[0].node)?;
    service.ship(&credential, batches)?;
    service.wait_closed()?;
    let first_ms = rows.first().context("rows")?.slice.start_ms;
    let period =
        chrono::DateTime::from_timestamp_millis(first_ms).context("an instant")?.format("%Y-%m").to_string();
    for account in ["vision", "speech"] {
        let report = ["report", "--period", &period, "--tenant", account, "--format", "json"];
        let statement: serde_json::Value = serde_json::from_str(&service.cli_ok(&report)?)?;
        let lines = statement["lines"].as_array().context("a statement has lines")?;
        let hours: f64 =
            lines.iter().filter_map(|line| line["gpu_hours"].as_str()?.parse::<f64>().ok()).sum();
        let of_account = rows.iter().filter(|row| row.attribute(key::SLURM_ACCOUNT) == account);
        let metered = of_account.map(Row::held_gpu_ms).sum::<f64>() / 3_600_000.0;
        assert!((hours - metered).abs() < 1e-8, "{account}: {hours} h on the statement, {metered} h metered");
        let number = statement["number"].as_str().context("a number")?;
        let opened: String = (1..=lines.len())
            .map(|line| service.cli_ok(&["explain", &format!("{number}-L{line}")]))
            .collect::<Result<_>>()?;
        let own = if account == "vision" { [jobs.computing, jobs.quarter] } else { [jobs.idle, jobs.half] };
        for job in own {
            assert!(opened.contains(&format!("slurm_job={job}")), "job {job} isn't named:\n{opened}");
        }
    }
    Ok(())
}
