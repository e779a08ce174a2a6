//! `slicemeter report`: the statements of a period, on standard output or as files.

use super::{Global, Outcome, load_and_open};
use crate::api::statements::{Format, render, render_platform};
use crate::config::Loaded;
use crate::jobs::settle::settle;
use crate::open::Opened;
use crate::report::{bill, of_tenant};
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
    let bill = bill(&opened.store.reader(), config, &period).await?;
    let unpriced = match (&options.tenant, &options.output) {
        (Some(tenant), output) => {
            let (bytes, unpriced) = if tenant == TenantId::PLATFORM {
                (render_platform(&bill, options.format, &Links::none()), bill.platform.totals.unpriced_lines)
            } else {
                let statement = of_tenant(&bill, tenant)?;
                (render(statement, options.format, &Links::none()), statement.totals.unpriced_lines)
            };
            put(&bytes, output.as_deref())?;
            unpriced
        }
        (None, Some(directory)) => {
            write_all(&bill, options.format, directory)?;
            unpriced_lines(&bill)
        }
        (None, None) => {
            put(&together(&bill, options.format), None)?;
            unpriced_lines(&bill)
        }
    };
    if unpriced > 0 {
        eprintln!("slicemeter: {unpriced} lines have no price: add entries for their models to prices.toml");
        return Ok(Outcome::Finding);
    }
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
