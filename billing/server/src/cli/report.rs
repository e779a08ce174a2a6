//! `slicemeter report`: the statements of a period, on standard output or as files.

use super::{Global, Outcome, WrongUse, load_and_open};
use crate::api::statements::{Format, render, render_platform};
use crate::config::Loaded;
use crate::focus::{self, Dataset, FocusFileError, Wanted};
use crate::jobs::rate::rate_dirty;
use crate::jobs::settle::settle;
use crate::open::Opened;
use crate::report::{bill, live_bill, of_tenant, statement};
use crate::store::Reader;
use anyhow::Context;
use billing::export;
use billing::export::focus::{Form, Version};
use billing::grouping::{Dimension, Grouping, Org};
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
    #[arg(long, value_enum, default_value_t = Written::Text)]
    format: Written,
    /// Version of FOCUS
    #[arg(long, value_name = "1.4|1.2", default_value = "1.4", value_parser = focus_version)]
    focus_version: Version,
    /// Which of FOCUS's datasets
    #[arg(long, value_enum, default_value_t = Dataset::CostAndUsage)]
    focus_dataset: Dataset,
    /// A file; or, without --tenant, a directory that gets a file for each tenant
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Sums of posted lines by dimensions, such as tenant,user or level:1,model: month, tenant, level:N, kind, user, job, account,
    /// partition, qos, namespace, model, profile, sharing, pool, cluster, node, label:KEY; as text, csv or json
    #[arg(long, value_name = "DIMENSIONS", value_delimiter = ',')]
    group_by: Vec<Dimension>,
    /// Whose organisation --group-by sorts into: as it was when the usage ran, or as it is now; amounts stay what was posted
    #[arg(long, value_enum, default_value_t = OrgName::AsWas, requires = "group_by")]
    org: OrgName,
    /// Show what each statement would come to with this price book in place of prices.toml; nothing is kept
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tenant", "format", "output", "group_by"])]
    what_if: Option<PathBuf>,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Written {
    /// Aligned text, at most 110 columns
    Text,
    /// A self-contained page
    Html,
    /// One line a row
    Csv,
    /// Everything, decimals as strings
    Json,
    /// FOCUS as CSV: a row for each device, day and line, and for each charge
    FocusCsv,
    /// FOCUS as Apache Parquet
    FocusParquet,
    /// Journal entries for an ERP, balanced to zero
    JournalCsv,
}

/// Whose organisation a grouping sorts into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OrgName {
    /// As it was when the usage ran
    AsWas,
    /// As tenants.toml says it is now
    AsIs,
}

/// What a format is of.
enum Kind {
    Statement(Format),
    Focus(Form),
    Journal,
}

impl Written {
    fn kind(self) -> Kind {
        match self {
            Self::Text => Kind::Statement(Format::Text),
            Self::Html => Kind::Statement(Format::Html),
            Self::Csv => Kind::Statement(Format::Csv),
            Self::Json => Kind::Statement(Format::Json),
            Self::FocusCsv => Kind::Focus(Form::Csv),
            Self::FocusParquet => Kind::Focus(Form::Parquet),
            Self::JournalCsv => Kind::Journal,
        }
    }
}

fn focus_version(text: &str) -> Result<Version, String> {
    match text {
        "1.4" => Ok(Version::V1_4),
        "1.2" => Ok(Version::V1_2),
        _ => Err("write 1.4 or 1.2".into()),
    }
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
    if !options.group_by.is_empty() {
        put(&grouped(options, config, &reader, &period).await?, options.output.as_deref())?;
        return Ok(Outcome::Done);
    }
    let format = match options.format.kind() {
        Kind::Statement(format) => format,
        Kind::Focus(form) => {
            let (version, dataset) = (options.focus_version, options.focus_dataset);
            let wanted = Wanted { period: &period, tenant, version, dataset, form };
            write_focus(&reader, config, wanted, options.output.as_deref()).await?;
            return Ok(Outcome::Done);
        }
        Kind::Journal => {
            let mut bill = bill(&reader, config, &period).await?;
            if let Some(tenant) = tenant {
                bill.tenants = vec![of_tenant(&bill, tenant)?.clone()];
            }
            put(&journal(&bill, config)?, options.output.as_deref())?;
            return Ok(Outcome::Done);
        }
    };
    let unpriced = match tenant.filter(|tenant| *tenant != TenantId::PLATFORM) {
        Some(tenant) => {
            let statement = statement(&reader, config, &period, tenant).await?;
            put(&render(&statement, format, &Links::none()), options.output.as_deref())?;
            statement.totals.unpriced_lines
        }
        None => {
            let bill = bill(&reader, config, &period).await?;
            match (tenant, &options.output) {
                (Some(_), output) => {
                    put(&render_platform(&bill, format, &Links::none()), output.as_deref())?;
                    bill.platform.totals.unpriced_lines
                }
                (None, Some(directory)) => {
                    write_all(&bill, format, directory)?;
                    unpriced_lines(&bill)
                }
                (None, None) => {
                    put(&together(&bill, format), None)?;
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

/// Posted months by dimensions.
async fn grouped(
    options: &Options,
    config: &Loaded,
    reader: &Reader,
    period: &Period,
) -> anyhow::Result<Vec<u8>> {
    let only = options.tenant.as_deref().map(TenantId::parse).transpose();
    let only = only.map_err(|e| WrongUse(format!("--tenant: {e}")))?;
    let org = match options.org {
        OrgName::AsWas => Org::AsWas,
        OrgName::AsIs => Org::AsIs { tenants: &config.tenants, at_ms: crate::clock::now_ms() },
    };
    let grouping = Grouping { by: &options.group_by, only: only.as_ref(), org };
    let groups = crate::groups::groups(reader, config, period, &grouping).await?;
    match options.format {
        Written::Text => Ok(text::groups(&groups, period.label()).into_bytes()),
        Written::Csv => Ok(export::groups::csv(&groups)),
        Written::Json => Ok(export::groups::json(&groups, period.label())),
        _ => Err(WrongUse("--group-by is written as text, csv or json".into()).into()),
    }
}

/// The journal of a bill, as slicemeter.toml says.
fn journal(bill: &Bill, config: &Loaded) -> anyhow::Result<Vec<u8>> {
    let Some(template) = &config.journal else {
        let missing = "a journal needs to know the platform's cost centre and accounts: add [journal] to slicemeter.toml";
        return Err(WrongUse(missing.into()).into());
    };
    export::journal::journal(bill, template).map_err(|wrong| WrongUse(wrong.to_string()).into())
}

/// Writes a FOCUS file. A file with a name gets it when it is whole.
async fn write_focus(
    reader: &Reader,
    config: &Loaded,
    wanted: Wanted<'_>,
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let Some(path) = output else {
        let bytes = focus::write(reader, config, wanted, Vec::new()).await.map_err(focus_error)?;
        return put(&bytes, None);
    };
    let could_not = || format!("could not write {}", path.display());
    let part = path.with_added_extension("part");
    let file = std::fs::File::create(&part).with_context(could_not)?;
    let written = focus::write(reader, config, wanted, std::io::BufWriter::new(file)).await;
    let done = match written {
        Ok(buffered) => match buffered.into_inner() {
            Ok(_) => std::fs::rename(&part, path).with_context(could_not),
            Err(error) => Err(error.into_error()).with_context(could_not),
        },
        Err(error) => Err(focus_error(error)),
    };
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// What is wrong with the report is wrong with the file.
fn focus_error(error: FocusFileError) -> anyhow::Error {
    match error {
        FocusFileError::Report(report) => report.into(),
        wrong @ (FocusFileError::NoIssuer | FocusFileError::NotMonths(_) | FocusFileError::NoDataset) => {
            WrongUse(wrong.to_string()).into()
        }
        other => other.into(),
    }
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
