//! `GET /api/v1/devices`: the inventory. Operators only: other tenants' devices are none of a tenant's business.

use super::auth::Scope;
use super::error::ApiError;
use crate::app::App;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// All devices.
pub async fn list_devices(State(app): State<App>, scope: Scope) -> Result<Json<Value>, ApiError> {
    if scope != Scope::Operator {
        return Err(ApiError::NotFound);
    }
    let devices = app.reader.devices().await?;
    Ok(Json(json!({"meta": {"total": devices.len()}, "devices": devices})))
}
