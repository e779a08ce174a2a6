//! FOCUS files of whole months: closed ones as they were closed, open ones as their days were last rated.

use crate::config::{Loaded, Organisation};
use crate::periods;
use crate::report::{self, ReportError};
use crate::store::charges::Days;
use crate::store::closing::Closing;
use crate::store::{Reader, StoreError};
use billing::bill::DevicePiece;
use billing::export::focus::{
    Export, FocusError, Form, Issuer, Month, TableError, Version, billing_periods, invoice_details,
};
use billing::period::Period;
use billing::statement::Bill;
use billing::tenant::TenantId;
use std::io::Write;

/// Which of FOCUS's datasets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Dataset {
    /// What was used and charged.
    #[default]
    CostAndUsage,
    /// Which months may still change (1.4).
    BillingPeriod,
    /// What each statement posts, line by line (1.4).
    InvoiceDetail,
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Whole months.
    pub period: &'a Period,
    /// Only this tenant's rows, or the platform's.
    pub tenant: Option<&'a str>,
    /// Version of FOCUS.
    pub version: Version,
    /// Which dataset.
    pub dataset: Dataset,
    /// How it is written.
    pub form: Form,
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum FocusFileError {
    /// Nobody to name as issuer.
    #[error(
        "a FOCUS file names who issues the statements: add [organisation] with name and account_id to slicemeter.toml"
    )]
    NoIssuer,
    /// Parts of months.
    #[error("a FOCUS file is of whole months, and {0} isn't: ask for a month, a quarter or a year")]
    NotMonths(String),
    /// A dataset that the version doesn't have.
    #[error("FOCUS 1.2 has the dataset cost-and-usage alone: leave --focus-version out for 1.4")]
    NoDataset,
    /// No bill.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The bill can't be exported.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// The file can't be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A month as it is read.
struct Read {
    bill: Bill,
    closing: Option<Closing>,
    /// What it was rated with.
    config: Loaded,
}

/// Writes a file. The bills of its months are in memory, and one tenant's devices and days at a time.
///
/// # Errors
/// See [`FocusFileError`]; what was written so far is no whole file.
pub async fn write<W: Write + Send>(
    reader: &Reader,
    config: &Loaded,
    wanted: Wanted<'_>,
    to: W,
) -> Result<W, FocusFileError> {
    let issuer = config.file.organisation.as_ref().map(issuer).ok_or(FocusFileError::NoIssuer)?;
    if wanted.dataset != Dataset::CostAndUsage && wanted.version == Version::V1_2 {
        return Err(FocusFileError::NoDataset);
    }
    let months = months_with_data(reader, config, wanted.period).await?;
    if let Some(tenant) = wanted.tenant.filter(|tenant| *tenant != TenantId::PLATFORM) {
        // In one of the months is enough.
        let statements = months.iter().map(|(_, month)| report::of_tenant(&month.bill, tenant).map(|_| ()));
        statements.reduce(Result::or).unwrap_or(Ok(()))?;
    }
    if wanted.dataset != Dataset::CostAndUsage {
        return Ok(other_dataset(months, wanted, &issuer, to)?);
    }
    let mut export = Export::begin(&issuer, wanted.version, wanted.form, to)?;
    for (period, month) in &months {
        export.month(&month.bill, month.config.prices.policies());
        let asked = |tenant: &TenantId| wanted.tenant.is_none_or(|wanted| wanted == tenant.as_str());
        for statement in month.bill.tenants.iter().filter(|s| asked(&s.tenant.id)) {
            let pieces = pieces(reader, month, period, &statement.tenant.id).await?;
            export.statement(statement, &pieces)?;
        }
        if asked(&TenantId::platform()) {
            let pieces = pieces(reader, month, period, &TenantId::unattributed()).await?;
            export.platform(&month.bill.platform, &pieces)?;
        }
    }
    Ok(export.end()?)
}

fn other_dataset<W: Write + Send>(
    mut read: Vec<(Period, Read)>,
    wanted: Wanted<'_>,
    issuer: &Issuer,
    to: W,
) -> Result<W, TableError> {
    for (_, month) in &mut read {
        if let Some(tenant) = wanted.tenant {
            month.bill.tenants.retain(|s| s.tenant.id.as_str() == tenant);
            if tenant != TenantId::PLATFORM {
                let platform = &mut month.bill.platform;
                platform.lines.clear();
                platform.unattributed.clear();
                platform.charges.clear();
            }
        }
    }
    let months: Vec<Month<'_>> = read
        .iter()
        .map(|(_, m)| Month { bill: &m.bill, closed_ms: m.closing.as_ref().map(|c| c.closed_at_ms) })
        .collect();
    match wanted.dataset {
        Dataset::InvoiceDetail => invoice_details(&months, issuer, wanted.form, to),
        _ => billing_periods(&months, issuer, wanted.form, to),
    }
}

fn issuer(organisation: &Organisation) -> Issuer {
    Issuer {
        name: organisation.name.clone(),
        account_id: organisation.account_id.clone(),
        region: organisation.region.clone(),
    }
}

/// The months of a period. A year goes on after a month in which nothing ran.
async fn months_with_data(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
) -> Result<Vec<(Period, Read)>, FocusFileError> {
    let months = period.whole_months().ok_or_else(|| FocusFileError::NotMonths(period.label().into()))?;
    let mut found = Vec::new();
    for month in months {
        match read(reader, config, &month).await {
            Err(FocusFileError::Report(ReportError::NoData(_))) => {}
            other => found.push((month, other?)),
        }
    }
    if found.is_empty() { Err(ReportError::NoData(period.label().into()).into()) } else { Ok(found) }
}

async fn read(reader: &Reader, config: &Loaded, period: &Period) -> Result<Read, FocusFileError> {
    let bill = report::bill(reader, config, period).await?;
    let closing = reader.closing(period.label()).await?;
    let config = match closing {
        Some(_) => periods::archived(reader, config, period)
            .await
            .map_err(|error| ReportError::Closed(Box::new(error)))?,
        None => config.clone(),
    };
    Ok(Read { bill, closing, config })
}

/// The devices and days of a tenant's lines.
async fn pieces(
    reader: &Reader,
    month: &Read,
    period: &Period,
    tenant: &TenantId,
) -> Result<Vec<DevicePiece>, StoreError> {
    if let Some(closing) = &month.closing {
        return reader.closed_pieces(period.label(), closing.attempt, tenant).await;
    }
    let name = month.config.rules_name();
    let mut edges_ms = month.config.changes_ms();
    edges_ms.extend(period.midnights_ms());
    reader.charge_pieces(Days { rules: &name, window: period.window() }, &edges_ms, Some(tenant)).await
}
