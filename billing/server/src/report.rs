//! A period's statements: read the ledger, rate it, arrange it. What is shown where is decided by the caller.

use crate::config::Loaded;
use crate::jobs::rate::RatingError;
use crate::periods::{self, PeriodsError};
use crate::store::charges::Days;
use crate::store::{Reader, StoreError};
use billing::bill;
use billing::explain::{Explained, Opening, parse_reference};
use billing::period::{Period, PeriodError};
use billing::post::PostError;
use billing::rating::Gathered;
use billing::statement::{Bill, Context, Statement, Status};
use billing::tenant::TenantId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Not a period.
    #[error(transparent)]
    Period(#[from] PeriodError),
    /// Nothing is published in the period.
    #[error("no hour of {0} is published: `slicemeter period list` shows the months with data")]
    NoData(String),
    /// No statement of that tenant.
    #[error("{tenant:?} has no statement in {period}; those with one: {have}")]
    UnknownTenant {
        /// As asked.
        tenant: String,
        /// The period's label.
        period: String,
        /// Tenants with a statement, for the operator.
        have: String,
    },
    /// Not a line of a statement.
    #[error("{0:?} is no line of a statement: write it as it is printed, such as VIS-2026-09-L3")]
    UnknownLine(String),
    /// The ledger can't be rated.
    #[error("the ledger can't be rated")]
    Rate(#[from] RatingError),
    /// What is posted besides usage can't be made.
    #[error("the ledger can't be posted")]
    Post(#[from] PostError),
    /// A closed period can't be opened.
    #[error(transparent)]
    Closed(#[from] Box<PeriodsError>),
    /// A line can't be opened.
    #[error(
        "line L{line} of {period} holds {held} GPU-hours and the usage under it {pieces}: run `slicemeter period check {period}`, and report the defect if it stays"
    )]
    Unopened {
        /// The period's label.
        period: String,
        /// Number of the line on its statement.
        line: u32,
        /// On the statement.
        held: NanoGpuHours,
        /// Sum of the usage under it.
        pieces: NanoGpuHours,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All statements of a period: as they were posted where it is closed, else as its days were last rated.
///
/// # Errors
/// See [`ReportError`].
pub async fn bill(reader: &Reader, config: &Loaded, period: &Period) -> Result<Bill, ReportError> {
    match periods::closed_bill(reader, period).await.map_err(Box::new)? {
        Some(closed) => Ok(closed),
        None => live_bill(reader, config, period).await,
    }
}

/// One tenant's statement of a period. Where nothing links tenants only its own rows are read.
///
/// # Errors
/// See [`ReportError`].
pub async fn statement(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
    tenant: &str,
) -> Result<Statement, ReportError> {
    let id = TenantId::parse(tenant).ok().filter(|id| !id.is_reserved());
    if let Some(id) = id.filter(|_| !bill::needs_pieces(config.rules()))
        && reader.closing(period.label()).await?.is_none()
    {
        let own = rated_bill(reader, config, period, Some(&id)).await?;
        if let Ok(statement) = of_tenant(&own, tenant) {
            return Ok(statement.clone());
        }
    }
    Ok(of_tenant(&bill(reader, config, period).await?, tenant)?.clone())
}

/// All statements of a period as its days were last rated, whether it is closed or not.
///
/// # Errors
/// See [`ReportError`].
pub async fn live_bill(reader: &Reader, config: &Loaded, period: &Period) -> Result<Bill, ReportError> {
    rated_bill(reader, config, period, None).await
}

/// The bill of what one tenant, or everybody, held.
async fn rated_bill(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
    only: Option<&TenantId>,
) -> Result<Bill, ReportError> {
    let window = period.window();
    let published = reader.published(window).await?;
    let rules = config.rules();
    let (name, mut edges_ms) = (config.rules_name(), config.changes_ms());
    if bill::needs_days(rules) {
        edges_ms.extend(period.midnights_ms());
    }
    let days = Days { rules: &name, window };
    let pieces = async {
        if bill::needs_pieces(rules) {
            reader.charge_pieces(days, &edges_ms, None).await
        } else {
            Ok(Vec::new())
        }
    };
    let (lines, held, devices, pieces, prices, mapping, posted) = tokio::try_join!(
        reader.charge_lines(days, only),
        reader.charge_devices(days, only),
        reader.device_days(days, &edges_ms, only),
        pieces,
        reader.version("prices.toml", config.prices.hash()),
        reader.version("tenants.toml", config.tenants.hash()),
        periods::posted(reader, period),
    )?;
    // What is posted to a month stands on its statements, whether anything ran in it or not.
    if devices.is_empty() && only.is_none() && posted.is_empty() {
        return Err(ReportError::NoData(period.label().into()));
    }
    let mut tenants: BTreeMap<TenantId, Gathered> = BTreeMap::new();
    for (tenant, key, sums) in lines {
        tenants.entry(tenant).or_default().add(key, &sums);
    }
    for (tenant, device, held) in held {
        tenants.entry(tenant).or_default().hold(&device, held);
    }
    let last_end_ms = i64::from(published.last_hour_s) * 1000 + HOUR_MS;
    let context = Context {
        period: period.clone(),
        status: Status::Provisional,
        mode: config.mode(),
        revision: 1,
        prices,
        mapping,
        data_through_ms: (published.hours > 0).then(|| last_end_ms.min(published.newest_ms)),
        closed: None,
    };
    let input = bill::Input {
        context: &context,
        rules,
        currency: &config.currency,
        devices: &devices,
        pieces: &pieces,
        posted: &posted,
    };
    Ok(bill::make(tenants, input)?)
}

/// A tenant's statement of a bill.
///
/// # Errors
/// The tenant has none in this period.
pub fn of_tenant<'a>(bill: &'a Bill, tenant: &str) -> Result<&'a Statement, ReportError> {
    bill.tenants.iter().find(|s| s.tenant.id.as_str() == tenant).ok_or_else(|| ReportError::UnknownTenant {
        tenant: tenant.into(),
        period: bill.platform.context.period.label().into(),
        have: bill.tenants.iter().map(|s| s.tenant.id.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// A line of a statement (`VIS-2026-09-L3`), opened, with the statement it is on. `may_see` says whose lines are there for
/// whoever asks; others aren't.
///
/// # Errors
/// See [`ReportError`]; a line that may not be seen is an unknown one.
pub async fn explain(
    reader: &Reader,
    config: &Loaded,
    reference: &str,
    may_see: impl Fn(&TenantId) -> bool,
) -> Result<(Statement, Explained), ReportError> {
    let unknown = || ReportError::UnknownLine(reference.into());
    let (number, line) = parse_reference(reference).ok_or_else(unknown)?;
    let period = Period::of_number(number, config.zone).ok_or_else(unknown)?;
    let bill = match bill(reader, config, &period).await {
        Err(ReportError::NoData(_)) => return Err(unknown()),
        other => other?,
    };
    // What is nobody's stands on the platform's statement.
    let nobodys = (bill.platform.number == number).then(|| bill.platform.unattributed_statement());
    let mut statements = bill.tenants.into_iter().chain(nobodys);
    let statement = statements.find(|s| s.number == number && may_see(&s.tenant.id)).ok_or_else(unknown)?;
    let line = statement.lines.iter().find(|l| l.number == line).ok_or_else(unknown)?.clone();
    let owners = reader.owners(period.window()).await?;
    // A closed period is opened with the rows, prices and tenants that it was closed with.
    let (config, usage) = match reader.closing(period.label()).await? {
        Some(closing) => (
            &periods::archived(reader, config, &period).await.map_err(Box::new)?,
            reader.line_hours_closed(&line.key, period.label(), closing.attempt).await?,
        ),
        None => (config, reader.line_hours(&line.key, period.window()).await?),
    };
    let own: Vec<_> = usage
        .into_iter()
        .filter(|row| {
            let (resolved, key) = config.rules().line_among(row, &owners);
            resolved.tenant == statement.tenant.id && key == line.key
        })
        .collect();
    let workloads: BTreeSet<_> = own.iter().map(|row| row.workload).collect();
    let devices: BTreeSet<_> = own.iter().map(|row| row.device.clone()).collect();
    let ends = own.iter().fold(None, |ends: Option<Window>, row| {
        let s = row.segment;
        Some(ends.map_or(s, |e| Window::new(e.start_ms.min(s.start_ms), e.end_ms.max(s.end_ms))))
    });
    let (slices, host_memory) = match ends {
        Some(window) => tokio::try_join!(
            reader.slices(&workloads, &devices, window),
            reader.host_memory(&workloads, window)
        )?,
        None => Default::default(),
    };
    let opening = Opening {
        usage: &own,
        slices: &slices,
        host_memory: &host_memory,
        owners: &owners,
        tenants: &config.tenants,
        prices: &config.prices,
    };
    let explained = Explained::open(&statement, &line, opening);
    Ok((statement, explained))
}

/// The months with published hours, newest first.
///
/// # Errors
/// The store failed.
pub async fn months(reader: &Reader, config: &Loaded) -> Result<Vec<Period>, ReportError> {
    let span = reader.span().await?;
    let mut months = Vec::new();
    if span.last_hour_s == 0 {
        return Ok(months);
    }
    let mut at_ms = i64::from(span.last_hour_s) * 1000;
    while at_ms >= i64::from(span.first_hour_s) * 1000 {
        let month = Period::month_of(at_ms, config.zone)?;
        at_ms = month.window().start_ms - 1;
        months.push(month);
    }
    Ok(months)
}
