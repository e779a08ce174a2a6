//! `slicemeter report`: the statements of a period, on standard output or as files.

use super::{Global, Outcome, load_and_open};
use crate::api::statements::{Format, render, render_platform};
use crate::config::Loaded;
use crate::jobs::rate::rate_dirty;
use crate::jobs::settle::settle;
use crate::open::Opened;
use crate::report::{bill, live_bill, statement};
use anyhow::Context;
use billing::export;
use billing::period::Period;
use billing::statement::Bill;
use billing::tenant::TenantId;
use clap::Args;
use dashboards::page::{self, Links};
use dashboards::text;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What to report.
#[derive(Debug, Args)]
pub struct Options {
    /// 2026-10, 2026-Q3, 2026, or days 2026-10-01..2026-10-15 (end not included), in the billing zone
    #[arg(long)]
    period: String,
    /// Only this tenant's statement; `platform` is what nobody held
    #[arg(long)]
    tenant: Option<String>,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A file; or, without --tenant, a directory that gets a file for each tenant
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show what each statement would come to with this price book in place of prices.toml; nothing is kept
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tenant", "format", "output"])]
    what_if: Option<PathBuf>,
}

/// Writes the statements. A line without a price keeps its quantity and is a finding.
///
/// # Errors
/// No such period or tenant, no data, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = write(&options, &config, &opened).await;
    opened.close().await;
    outcome
}

async fn write(options: &Options, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = Period::parse(&options.period, config.zone).map_err(crate::report::ReportError::from)?;
    settle(&opened.store, config, period.window()).await?;
    if let Some(file) = &options.what_if {
        return what_if(file, config, opened, &period).await;
    }
    let reader = opened.store.reader();
    let tenant = options.tenant.as_deref();
    let unpriced = match tenant.filter(|tenant| *tenant != TenantId::PLATFORM) {
        Some(tenant) => {
            let statement = statement(&reader, config, &period, tenant).await?;
            put(&render(&statement, options.format, &Links::none()), options.output.as_deref())?;
            statement.totals.unpriced_lines
        }
        None => {
            let bill = bill(&reader, config, &period).await?;
            match (tenant, &options.output) {
                (Some(_), output) => {
                    put(&render_platform(&bill, options.format, &Links::none()), output.as_deref())?;
                    bill.platform.totals.unpriced_lines
                }
                (None, Some(directory)) => {
                    write_all(&bill, options.format, directory)?;
                    unpriced_lines(&bill)
                }
                (None, None) => {
                    put(&together(&bill, options.format), None)?;
                    unpriced_lines(&bill)
                }
            }
        }
    };
    if unpriced > 0 {
        eprintln!("slicemeter: {unpriced} lines have no price: add entries for their models to prices.toml");
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

/// The period under a price book on trial, beside what it is.
async fn what_if(file: &Path, config: &Loaded, opened: &Opened, period: &Period) -> anyhow::Result<Outcome> {
    let content =
        std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let trial = config.with("prices.toml", &content)?;
    let reader = opened.store.reader();
    let now = live_bill(&reader, config, period).await?;
    rate_dirty(&opened.store, &trial, period.window()).await?;
    let then = live_bill(&reader, &trial, period).await?;
    put(text::what_if(&now, &then).as_bytes(), None)?;
    Ok(Outcome::Done)
}

fn unpriced_lines(bill: &Bill) -> u32 {
    bill.platform.totals.unpriced_lines + bill.tenants.iter().map(|s| s.totals.unpriced_lines).sum::<u32>()
}

/// All statements in one document.
fn together(bill: &Bill, format: Format) -> Vec<u8> {
    match format {
        Format::Text => {
            let mut all = text::fleet(bill);
            for statement in &bill.tenants {
                all.push('\n');
                all.push_str(&text::statement(statement));
            }
            all.push('\n');
            all.push_str(&text::platform(&bill.platform));
            all.into_bytes()
        }
        Format::Html => page::overview(&[], Some(bill), &Links::none()).into_bytes(),
        Format::Csv => export::csv::lines(&bill.tenants.iter().collect::<Vec<_>>()),
        Format::Json => export::json::bill(bill),
    }
}

/// One file a tenant, named by its id, and one for the platform. One that can't be written doesn't stop the others.
fn write_all(bill: &Bill, format: Format, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("could not make {}", directory.display()))?;
    let mut failed = None;
    let mut file = |number: &str, bytes: Vec<u8>| {
        let path = directory.join(format!("{number}.{}", format.ending()));
        if let Err(error) = put(&bytes, Some(&path)) {
            eprintln!("slicemeter: {}", crate::error::chain(error.as_ref()));
            failed = Some(error);
        }
    };
    for statement in &bill.tenants {
        // Two tenants may share a prefix, never an id.
        file(
            &format!("{}-{}", statement.tenant.id, bill.platform.context.period.label()),
            render(statement, format, &Links::none()),
        );
    }
    file(&bill.platform.number, render_platform(bill, format, &Links::none()));
    failed.map_or(Ok(()), Err)
}

fn put(bytes: &[u8], path: Option<&Path>) -> anyhow::Result<()> {
    match path {
        Some(path) => {
            std::fs::write(path, bytes).with_context(|| format!("could not write {}", path.display()))
        }
        None => std::io::stdout().lock().write_all(bytes).context("could not write the report"),
    }
}
