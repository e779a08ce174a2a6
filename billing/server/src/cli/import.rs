//! `slicemeter import`: a scheduler's history through the same ledger, once.

mod outcome;

use super::{Global, Outcome, WrongUse, load_and_open};
use crate::config::Loaded;
use crate::open::Opened;
use crate::store::imports::Source;
use billing::import::allocations::{self, ColumnMap};
use billing::import::plan::{Plan, plan};
use billing::import::time::Clock;
use billing::import::{self as history, FILE_BYTES_MAX, Models, Read, Row, sacct};
use clap::{Args, Subcommand, ValueEnum};
use schema::owner::OwnerKind;
use schema::window::Window;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What to take in.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A CSV with a header, whose columns --map names; docs/IMPORT.md has an example
    Allocations {
        /// The CSV
        file: PathBuf,
        /// A column and what it says: num_gpu=gpus. Fields: job, submit, start, end, cluster, node, device, model, profile,
        /// gpus, milli, fraction, tenant, namespace, pod, pod_uid, priority_class, account, partition, qos, user, uid, image,
        /// label:KEY. job, start and end are needed
        #[arg(long, value_name = "COLUMN=FIELD", required = true)]
        map: Vec<String>,
        /// What the rows are; Slurm jobs where a column is an account or partition, else pods
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        #[command(flatten)]
        common: Common,
    },
    /// What `sacct --parsable2` (with its header) or `sacct --json` printed
    Sacct {
        /// The output
        file: PathBuf,
        /// A suspended job keeps its GPUs: bill its whole time; without it suspended time is taken off the end
        #[arg(long)]
        suspended_holds: bool,
        /// How many shards (gres/shard) make a GPU
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
        shards_per_gpu: Option<u32>,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Slurm,
    Kubernetes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TimeUnit {
    S,
    Ms,
}

#[derive(Debug, Args)]
struct Common {
    /// Cluster of rows that name none
    #[arg(long)]
    cluster: Option<String>,
    /// NVML product name: NAME for rows that name no model, THEIRS=NAME for those that name THEIRS (a100=NVIDIA A100-SXM4-80GB)
    #[arg(long, value_name = "[THEIRS=]NAME")]
    model: Vec<String>,
    /// What times that are numbers count from: an instant, 2026-01-01T00:00Z; the Unix epoch if missing
    #[arg(long, value_name = "INSTANT")]
    time_origin: Option<String>,
    /// Unit of times that are numbers
    #[arg(long, value_enum, default_value = "s")]
    time_unit: TimeUnit,
    /// Zone of local times; the billing zone if missing
    #[arg(long)]
    zone: Option<String>,
    /// Take only what was before: runs are cut there, where live metering began
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
    /// Say what would be added, skipped and refused, by line, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Add the good rows although some are refused; without it a refused row stops the import
    #[arg(long)]
    skip_bad: bool,
}

/// Reads, plans, and writes what is new. Refused rows are a finding.
///
/// # Errors
/// The file or the options can't be meant, or the store can't be reached; nothing is written then.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = act(options.command, &config, &opened).await;
    opened.close().await;
    outcome
}

async fn act(command: Command, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let now_ms = crate::clock::now_ms();
    let (format, file, common, rows) = match command {
        Command::Allocations { file, map, kind, common } => {
            let kind = kind.map(|kind| match kind {
                Kind::Slurm => OwnerKind::Slurm,
                Kind::Kubernetes => OwnerKind::Kubernetes,
            });
            let map = ColumnMap::parse(&map, kind).map_err(|e| WrongUse(format!("--map: {e}")))?;
            let options = common.options(&file, config, now_ms)?;
            let rows = allocations::read(&content(&file)?, &map, &options);
            ("allocations", file, common, rows)
        }
        Command::Sacct { file, suspended_holds, shards_per_gpu, common } => {
            let options = history::Options {
                suspended_holds,
                shards_per_gpu,
                ..common.options(&file, config, now_ms)?
            };
            let rows = sacct::read(&content(&file)?, &options);
            ("sacct", file, common, rows)
        }
    };
    let rows = rows.map_err(|e| WrongUse(format!("{}: {e}", file.display())))?;
    let plan = against_ledger(rows, opened).await?;
    let writes = !common.dry_run && (plan.refused.is_empty() || common.skip_bad);
    if writes {
        let file = file.display().to_string();
        opened.store.writer().import(&plan.added, Source { format, file: &file }, now_ms).await?;
    }
    outcome::print(&plan, &file, &common);
    Ok(if plan.refused.is_empty() { Outcome::Done } else { Outcome::Finding })
}

/// What of the rows is new.
async fn against_ledger(rows: Vec<Row>, opened: &Opened) -> anyhow::Result<Plan> {
    let runs = || {
        rows.iter().flat_map(|row| match &row.read {
            Read::Runs(runs) => runs.as_slice(),
            Read::Skipped(_) | Read::Wrong(_) => &[],
        })
    };
    let clusters: BTreeSet<String> = runs().map(|run| run.key.cluster.clone()).collect();
    let window = runs()
        .map(|run| run.window())
        .reduce(|a, b| Window::new(a.start_ms.min(b.start_ms), a.end_ms.max(b.end_ms)));
    let reader = opened.store.reader();
    let (known, devices) = match window {
        Some(window) => tokio::try_join!(reader.imported_runs(&clusters, window), reader.known_devices())?,
        None => Default::default(),
    };
    Ok(plan(rows, &known, &devices))
}

impl Common {
    fn options(
        &self,
        file: &std::path::Path,
        config: &Loaded,
        now_ms: i64,
    ) -> anyhow::Result<history::Options> {
        let zone = match &self.zone {
            Some(zone) => billing::period::parse_zone(zone).map_err(|e| WrongUse(format!("--zone: {e}")))?,
            None => config.zone,
        };
        let instant = |key: &str, text: &Option<String>| {
            let parse = |text: &String| billing::instant::parse_any(text, zone);
            text.as_ref().map(parse).transpose().map_err(|e| WrongUse(format!("{key}: {e}")))
        };
        let mut models = Models::default();
        for model in &self.model {
            match model.split_once('=') {
                Some((theirs, name)) => {
                    models.names.insert(theirs.trim().to_owned(), name.trim().to_owned());
                }
                None if models.default.is_none() => models.default = Some(model.clone()),
                None => {
                    let message = format!("--model {model:?}: one model for rows that name none is enough");
                    return Err(WrongUse(message).into());
                }
            }
        }
        Ok(history::Options {
            file: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            cluster: self.cluster.clone(),
            models,
            clock: Clock {
                zone,
                origin_ms: instant("--time-origin", &self.time_origin)?.unwrap_or(0),
                unit_ms: if self.time_unit == TimeUnit::S { 1000 } else { 1 },
            },
            until_ms: instant("--until", &self.until)?,
            suspended_holds: false,
            shards_per_gpu: None,
            now_ms,
        })
    }
}

/// A file's text.
fn content(file: &std::path::Path) -> anyhow::Result<String> {
    let wrong = |e: &dyn std::fmt::Display| WrongUse(format!("could not read {}: {e}", file.display()));
    let bytes = std::fs::metadata(file).map_err(|e| wrong(&e))?.len();
    if bytes > FILE_BYTES_MAX {
        let message = format!(
            "{} has {bytes} bytes, the most is {FILE_BYTES_MAX}: cut it, by month for instance",
            file.display()
        );
        return Err(WrongUse(message).into());
    }
    let bytes = std::fs::read(file).map_err(|e| wrong(&e))?;
    String::from_utf8(bytes).map_err(|e| {
        let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        WrongUse(format!("{}, line {line}: not UTF-8: convert it, with iconv for instance", file.display()))
            .into()
    })
}
