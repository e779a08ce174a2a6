//! `GET /api/v1/statements?period=` and `/api/v1/statements/{tenant}?period=&format=`.
//!
//! A tenant's token sees its own statement; any other tenant, real or not, answers with the same bytes.

use super::auth::Scope;
use super::error::ApiError;
use crate::app::App;
use crate::config::Loaded;
use crate::current::Snapshot;
use crate::report::{self, ReportError};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use billing::export;
use billing::period::Period;
use billing::statement::Bill;
use billing::tenant::TenantId;
use dashboards::page::{self, Links};
use dashboards::text;
use serde::Deserialize;
use serde_json::{Value, json};

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Period; the newest month with data if missing.
    pub period: Option<String>,
    /// `json` (default), `html`, `csv` or `text`.
    #[serde(default)]
    pub format: Format,
}

/// How a statement is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Aligned text, at most 110 columns.
    Text,
    /// A self-contained page.
    Html,
    /// One line a row.
    Csv,
    /// Everything, decimals as strings.
    #[default]
    Json,
}

impl Format {
    /// File ending.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

impl From<ReportError> for ApiError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Period(wrong) => Self::Wrong(wrong.to_string()),
            ReportError::NoData(_) | ReportError::UnknownTenant { .. } | ReportError::UnknownLine(_) => {
                Self::NotFound
            }
            ReportError::Store(store) => store.into(),
            ReportError::Rate(_)
            | ReportError::Post(_)
            | ReportError::Closed(_)
            | ReportError::Unopened { .. } => {
                tracing::error!(error = crate::error::chain(&error), "a period can't be rated");
                Self::Busy("the period can't be rated: the operator finds why in the log".into())
            }
        }
    }
}

/// The period asked for, or the newest month.
pub async fn period_of(app: &App, config: &Loaded, period: Option<&str>) -> Result<Period, ApiError> {
    match period {
        Some(text) => Ok(Period::parse(text, config.zone).map_err(ReportError::from)?),
        None => report::months(&app.reader, config).await?.into_iter().next().ok_or(ApiError::NotFound),
    }
}

/// Its bill.
pub async fn bill_of(app: &App, config: &Loaded, period: Option<&str>) -> Result<Bill, ApiError> {
    let period = period_of(app, config, period).await?;
    Ok(report::bill(&app.reader, config, &period).await?)
}

/// Statements that the token may see, without their lines.
pub async fn list_statements(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Query(params): Query<Params>,
) -> Result<Json<Value>, ApiError> {
    let bill = bill_of(&app, &config, params.period.as_deref()).await?;
    let currency = &bill.platform.currency;
    let statements: Vec<Value> = bill
        .tenants
        .iter()
        .filter(|s| scope.sees(s.tenant.id.as_str()))
        .map(|s| {
            json!({
                "number": s.number,
                "tenant": s.tenant.id,
                "gpu_hours": s.totals.quantity.to_string(),
                "amount": currency.decimal(s.totals.amount),
                "unpriced_lines": s.totals.unpriced_lines,
            })
        })
        .collect();
    let meta = json!({"period": bill.platform.context.period.label(), "currency": currency.code(), "total": statements.len()});
    Ok(Json(json!({"statements": statements, "meta": meta})))
}

/// One statement.
pub async fn get_statement(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Path(tenant): Path<String>,
    Query(params): Query<Params>,
) -> Result<Response, ApiError> {
    if !scope.sees(&tenant) {
        return Err(ApiError::NotFound);
    }
    let period = period_of(&app, &config, params.period.as_deref()).await?;
    let body = if tenant == TenantId::PLATFORM {
        render_platform(&report::bill(&app.reader, &config, &period).await?, params.format, &links())
    } else {
        let statement = report::statement(&app.reader, &config, &period, &tenant).await?;
        render(&statement, params.format, &links())
    };
    Ok(([(header::CONTENT_TYPE, params.format.content_type())], body).into_response())
}

/// Where pages of this service link to.
pub fn links() -> Links {
    Links {
        home: Some("/".into()),
        statements: Some("/statements/".into()),
        lines: Some("/lines/".into()),
        files: Vec::new(),
    }
}

/// A tenant's statement as bytes.
pub fn render(statement: &billing::statement::Statement, format: Format, links: &Links) -> Vec<u8> {
    match format {
        Format::Text => text::statement(statement).into_bytes(),
        Format::Html => page::statement(statement, links).into_bytes(),
        Format::Csv => export::csv::lines(&[statement]),
        Format::Json => export::json::statement(statement),
    }
}

/// The platform's statement as bytes.
pub fn render_platform(bill: &Bill, format: Format, links: &Links) -> Vec<u8> {
    match format {
        Format::Text => text::platform(&bill.platform).into_bytes(),
        Format::Html => page::platform(&bill.platform, links).into_bytes(),
        Format::Csv => export::csv::platform(&bill.platform),
        Format::Json => export::json::platform(&bill.platform),
    }
}
