//! `slicemeter explain LINE`.

use super::{Global, Outcome, load_and_open};
use crate::config::Loaded;
use crate::jobs::settle::settle;
use crate::report;
use crate::store::Store;
use billing::explain::{Explained, parse_reference};
use billing::period::Period;
use billing::statement::Statement;
use clap::Args;
use dashboards::text;

/// What to open.
#[derive(Debug, Args)]
pub struct Options {
    /// A line as a statement prints it: VIS-2026-09-L3
    line: String,
}

/// Prints the line, opened. A line whose hours don't sum to it is a finding.
///
/// # Errors
/// No such line, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let explained = open(&options.line, &config, &opened.store).await;
    opened.close().await;
    let (statement, explained) = explained?;
    print!("{}", text::explain(&explained, &statement, &config.tenants));
    Ok(if explained.adds_up() { Outcome::Done } else { Outcome::Finding })
}

async fn open(line: &str, config: &Loaded, store: &Store) -> anyhow::Result<(Statement, Explained)> {
    let number = parse_reference(line).map(|(number, _)| number);
    if let Some(period) = number.and_then(|number| Period::of_number(number, config.zone)) {
        settle(store, config, period.window()).await?;
    }
    Ok(report::explain(&store.reader(), config, line, |_| true).await?)
}
