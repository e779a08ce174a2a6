//! What a node serves: pages from the last snapshot, never from the driver.

use crate::clock::Clock;
use crate::snapshot::Published;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// Text format 0.0.4, whatever the scraper accepts: DCGM's counters have no `_total` and aren't OpenMetrics.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone)]
struct Served {
    published: Published,
    clock: Arc<dyn Clock>,
}

/// Every route.
pub fn router(published: Published, clock: Arc<dyn Clock>) -> Router {
    Router::new()
        .route("/metrics", get(own))
        .route("/metrics/dcgm", get(dcgm))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(readyz))
        .with_state(Served { published, clock })
}

async fn own(State(served): State<Served>) -> Response {
    page(served.published.current().own.clone())
}

async fn dcgm(State(served): State<Served>) -> Response {
    page(served.published.current().dcgm.clone())
}

fn page(text: String) -> Response {
    ([(header::CONTENT_TYPE, TEXT)], text).into_response()
}

/// Ready means that data is fresh and whole; otherwise the answer says what isn't, a line each.
async fn readyz(State(served): State<Served>) -> Response {
    let snapshot = served.published.current();
    let mut reasons = snapshot.not_ready.clone();
    if served.clock.boot_ms() > snapshot.stale_after_boot_ms {
        reasons
            .push("the last reading is too old: the driver hangs or the first reading isn't done".to_owned());
    }
    if reasons.is_empty() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n").into_response()
}
