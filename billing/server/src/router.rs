//! Every route, one flat list.

use crate::api::{batches, devices, enrol, health, lines, login, pages, statements};
use crate::app::App;
use axum::Router;
use axum::routing::{get, post};
use std::time::Duration;
use tower_http::timeout::TimeoutLayer;

/// A request that takes longer than this is given up: a slow sender can't hold a connection for ever.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// All routes over `app`.
pub fn router(app: App) -> Router {
    Router::new()
        // Collectors
        .route("/api/v1/batches", post(batches::create_batches))
        .route("/api/v1/enrol", post(enrol::create_collector))
        // People and their programs
        .route("/api/v1/statements", get(statements::list_statements))
        .route("/api/v1/statements/{tenant}", get(statements::get_statement))
        .route("/api/v1/devices", get(devices::list_devices))
        .route("/api/v1/lines/{line}", get(lines::get_line))
        .route("/", get(pages::get_home))
        .route("/statements/{number}", get(pages::get_statement))
        .route("/lines/{line}", get(pages::get_line))
        .route("/login", get(login::get_login))
        // Machines that watch
        .route("/metrics", get(health::get_metrics))
        .route("/healthz", get(health::get_health))
        .route("/readyz", get(health::get_ready))
        .layer(TimeoutLayer::with_status_code(axum::http::StatusCode::REQUEST_TIMEOUT, REQUEST_TIMEOUT))
        .with_state(app)
}
