//! `slicemeter explain LINE`.

use super::{Global, Outcome, load_and_open};
use crate::report;
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
    let explained = report::explain(&opened.store.reader(), &config, &options.line, |_| true).await;
    opened.close().await;
    let (statement, explained) = explained?;
    print!("{}", text::explain(&explained, &statement, &config.tenants));
    Ok(if explained.adds_up() { Outcome::Done } else { Outcome::Finding })
}
