//! `/metrics`, `/healthz` (the process is alive) and `/readyz` (hours are being closed).

use crate::app::App;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

/// A close that is older than this is late: it is tried every few seconds.
const FRESH_S: i64 = 120;

/// The exposition.
pub async fn get_metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.render())
}

/// Always 200 while the process answers.
pub async fn get_health() -> &'static str {
    "ok\n"
}

/// 200 where hours were closed lately, else 503.
pub async fn get_ready(State(app): State<App>) -> (StatusCode, String) {
    let age_s = crate::clock::now_ms() / 1000 - app.metrics.last_close.get();
    if age_s <= FRESH_S {
        (StatusCode::OK, "ready\n".into())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "hours have not been closed lately: see the log for why\n".into())
    }
}
