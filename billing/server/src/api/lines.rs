//! `GET /api/v1/lines/{line}`: a line opened down to hours, slices and owners, as text.

use super::auth::Scope;
use super::error::ApiError;
use crate::app::App;
use crate::current::Snapshot;
use crate::report;
use axum::extract::{Path, State};
use dashboards::text;

/// A line, opened.
pub async fn get_line(
    State(app): State<App>,
    scope: Scope,
    Snapshot(config): Snapshot,
    Path(line): Path<String>,
) -> Result<String, ApiError> {
    let (statement, explained) =
        report::explain(&app.reader, &config, &line, |tenant| scope.sees(tenant.as_str())).await?;
    Ok(text::explain(&explained, &statement, &config.tenants))
}
