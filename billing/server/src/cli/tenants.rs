//! `slicemeter tenants`: check the rules, try them over past usage, and find what none of them catches.

mod check;
mod past;

use super::{Global, Outcome, load, load_and_open};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read tenants.toml and print the tree and the rules in the order in which they are tried
    Check,
    /// Show which rule catches what of a period's usage, and what another version of the file would move
    DryRun(DryRun),
    /// List what no rule catches, largest first, each with a rule to add; the output can be added to tenants.toml as it is
    Unmapped(Unmapped),
}

#[derive(Debug, Args)]
struct DryRun {
    /// 2026-10, 2026-Q3, 2026, or days 2026-10-01..2026-10-15 (end not included), in the billing zone
    #[arg(long)]
    period: String,
    /// Try this file in place of tenants.toml, and show what it would move from whom to whom
    #[arg(long, value_name = "FILE")]
    tenants_file: Option<PathBuf>,
    /// How it is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
struct Unmapped {
    /// 2026-10, 2026-Q3, 2026, or days 2026-10-01..2026-10-15 (end not included), in the billing zone
    #[arg(long)]
    period: String,
    /// How it is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// Everything, decimals as strings.
    Json,
}

/// Checks, tries or finds. A declared tenant that no rule leads to, and use that no rule catches, are findings.
///
/// # Errors
/// A file or the period is wrong, there is no data, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let command = options.command;
    if matches!(command, Command::Check) {
        return Ok(check::run(&load(global)?));
    }
    let (config, opened) = load_and_open(global).await?;
    let reader = opened.store.reader();
    let outcome = match &command {
        Command::Check => unreachable!("needs no store"),
        Command::DryRun(options) => past::dry_run(options, &config, &reader).await,
        Command::Unmapped(options) => past::unmapped(options, &config, &reader).await,
    };
    opened.close().await;
    outcome
}
