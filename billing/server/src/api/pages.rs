//! Web pages: the overview of a month, a statement, an opened line.

use super::auth::Scope;
use super::error::ApiError;
use super::statements::{self, Format, bill_of, links, period_of};
use crate::app::App;
use crate::current::Snapshot;
use crate::report;
use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use billing::period::Period;
use dashboards::page::{self, MonthLink};
use serde::Deserialize;

/// The month to show.
#[derive(Deserialize)]
pub struct Params {
    period: Option<String>,
}

/// The overview for an operator; a tenant is sent to its own statement.
pub async fn get_home(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Query(params): Query<Params>,
) -> Result<Response, ApiError> {
    let months = report::months(&app.reader, &config).await?;
    if months.is_empty() {
        return Ok(Html(page::overview(&[], None, &links())).into_response());
    }
    if let Scope::Tenant(tenant) = scope {
        let period = period_of(&app, &config, params.period.as_deref()).await?;
        let statement = report::statement(&app.reader, &config, &period, &tenant).await?;
        return Ok(Redirect::to(&format!("/statements/{}", statement.number)).into_response());
    }
    let bill = bill_of(&app, &config, params.period.as_deref()).await?;
    let shown = bill.platform.context.period.label();
    let link = |month: &Period| MonthLink {
        label: month.label().into(),
        href: format!("/?period={}", month.label()),
        current: month.label() == shown,
    };
    let months: Vec<MonthLink> = months.iter().map(link).collect();
    Ok(Html(page::overview(&months, Some(&bill), &links())).into_response())
}

/// A statement by its number, `VIS-2026-09`.
pub async fn get_statement(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Path(number): Path<String>,
) -> Result<Html<Vec<u8>>, ApiError> {
    let period = Period::of_number(&number, config.zone).ok_or(ApiError::NotFound)?;
    let bill = report::bill(&app.reader, &config, &period).await?;
    if number == bill.platform.number && scope == Scope::Operator {
        return Ok(Html(statements::render_platform(&bill, Format::Html, &links())));
    }
    let mine = |s: &&billing::statement::Statement| s.number == number && scope.sees(s.tenant.id.as_str());
    let statement = bill.tenants.iter().find(mine).ok_or(ApiError::NotFound)?;
    let mut links = links();
    links.files = [Format::Csv, Format::Json, Format::Text]
        .map(|f| {
            let name = f.ending();
            let format = if f == Format::Text { "text" } else { name };
            let tenant = statement.tenant.id.as_str();
            (
                name.to_uppercase(),
                format!("/api/v1/statements/{tenant}?period={}&format={format}", period.label()),
            )
        })
        .into();
    Ok(Html(statements::render(statement, Format::Html, &links)))
}

/// A line, opened.
pub async fn get_line(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Path(line): Path<String>,
) -> Result<Html<String>, ApiError> {
    let (statement, explained) =
        report::explain(&app.reader, &config, &line, |tenant| scope.sees(tenant.as_str())).await?;
    Ok(Html(page::explain(&explained, &statement, &config.tenants, &links())))
}
