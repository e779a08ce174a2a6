//! The command line: a subcommand a file; what a person reads in `--help` is the doc comments here.

pub mod engine;

pub mod check_config;

pub mod migrate;

pub mod report;

pub mod explain;

pub mod inventory;

pub mod import;

pub mod token;

pub mod tenants;

pub mod period;

pub mod adjust;

use crate::config::{self, ConfigError, Loaded};
use crate::open::{Opened, open};
use crate::periods::PeriodsError;
use crate::report::ReportError;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// GPU chargeback: what every tenant held of every GPU, what it cost, and the proof that it adds up.
#[derive(Debug, Parser)]
#[command(name = "slicemeter", version = VERSION, after_help = EXITS)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLICEMETER_REVISION"), ")");
const EXITS: &str = "Exit status: 0 done; 1 a finding, such as an unpriced line; 2 wrong use or configuration; \
3 cannot tell, because the store can't be reached or has no data.";

/// What every subcommand takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Configuration; tenants.toml and prices.toml lie beside it
    #[arg(long, global = true, value_name = "FILE", default_value = "/etc/slicemeter/slicemeter.toml")]
    pub config: PathBuf,
    /// How the log on standard error is written
    #[arg(long, global = true, value_enum, default_value_t)]
    pub log_format: LogFormat,
}

/// `text` or `json`.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One object a line.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: take collectors' deliveries, close hours, answer HTTP; edits of tenants.toml and prices.toml hold
    /// without a restart
    Serve,
    /// Run the embedded ClickHouse apart, to be shared by several services
    Engine(engine::Options),
    /// Bring the database up to date; serve does it by itself
    Migrate,
    /// Check slicemeter.toml, tenants.toml and prices.toml
    CheckConfig,
    /// Write the statements of a period
    Report(report::Options),
    /// Take a scheduler's history into the ledger: who held which GPUs before anybody metered
    Import(import::Options),
    /// Open a line of a statement down to hours, slices and owners
    Explain(explain::Options),
    /// List devices, or say that one is expected or retired
    Inventory(inventory::Options),
    /// Make, list or revoke tokens for nodes and people
    Token(token::Options),
    /// Check the tenants and mapping rules, try them over past usage, find what none of them catches
    Tenants(tenants::Options),
    /// Check, close, verify, compare and correct months
    Period(period::Options),
    /// Post credits, adjustments, taxes and reconciliations to an open month
    Adjust(adjust::Options),
}

/// What a subcommand found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done: exit 0.
    Done,
    /// Something a person should look at, named on the output: exit 1.
    Finding,
}

/// The command was used wrongly: exit 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// Parses the arguments, runs, and turns the outcome into an exit status.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log(cli.global.log_format);
    // The engine makes its own threads and signals, so it isn't run inside the runtime.
    if let Command::Engine(options) = &cli.command {
        return exit(engine::run(options, &cli.global));
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit(Err(error.into())),
    };
    exit(runtime.block_on(run(cli)))
}

async fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let global = &cli.global;
    match cli.command {
        Command::Serve => crate::serve::serve(load(global)?).await.map(|()| Outcome::Done),
        Command::Engine(_) => unreachable!("run outside the runtime"),
        Command::Migrate => migrate::run(global).await,
        Command::CheckConfig => check_config::run(global),
        Command::Report(options) => report::run(options, global).await,
        Command::Import(options) => import::run(options, global).await,
        Command::Explain(options) => explain::run(options, global).await,
        Command::Inventory(options) => inventory::run(options, global).await,
        Command::Token(options) => token::run(options, global).await,
        Command::Tenants(options) => tenants::run(options, global).await,
        Command::Period(options) => period::run(options, global).await,
        Command::Adjust(options) => adjust::run(options, global).await,
    }
}

fn exit(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Err(error) => {
            eprintln!("slicemeter: {}", crate::error::chain(error.as_ref()));
            let wrong_use = error.downcast_ref::<WrongUse>().is_some()
                || error.downcast_ref::<ConfigError>().is_some()
                || matches!(
                    error.downcast_ref::<PeriodsError>(),
                    Some(PeriodsError::NotAMonth(_) | PeriodsError::NotClosed(_) | PeriodsError::Closed(_))
                )
                || matches!(
                    error.downcast_ref::<ReportError>(),
                    Some(
                        ReportError::Period(_)
                            | ReportError::UnknownTenant { .. }
                            | ReportError::UnknownLine(_)
                    )
                );
            ExitCode::from(if wrong_use { 2 } else { 3 })
        }
    }
}

fn log(format: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("SLICEMETER_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

/// The configuration.
pub(crate) fn load(global: &Global) -> Result<Loaded, ConfigError> {
    config::load(&global.config)
}

/// The configuration and the store that it names.
pub(crate) async fn load_and_open(global: &Global) -> anyhow::Result<(Loaded, Opened)> {
    let config = load(global)?;
    let opened = open(&config).await?;
    Ok((config, opened))
}

/// Who does something: as named, or the user of this shell.
pub(crate) fn person(named: Option<&str>) -> String {
    let user = || std::env::var("USER").ok().filter(|user| !user.trim().is_empty());
    named.map(str::to_owned).or_else(user).unwrap_or_else(|| "unknown".into())
}

/// An instant as the operator writes it, in the billing zone.
pub(crate) fn instant_ms(key: &str, text: &str, config: &Loaded) -> anyhow::Result<i64> {
    billing::instant::parse(text, config.zone).map_err(|e| WrongUse(format!("{key}: {e}")).into())
}
