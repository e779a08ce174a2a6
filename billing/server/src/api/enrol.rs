//! `POST /api/v1/enrol`: a join token in, a credential bound to one node out. The credential is shown once.

use super::error::ApiError;
use crate::app::App;
use crate::current::Snapshot;
use crate::secret;
use crate::store::keys::{NodeKey, Role};
use axum::Json;
use axum::extract::State;
use schema::wire::{EnrolRequest, EnrolResponse};

/// Enrols a node.
pub async fn create_collector(
    State(app): State<App>,
    Snapshot(config): Snapshot,
    Json(request): Json<EnrolRequest>,
) -> Result<Json<EnrolResponse>, ApiError> {
    let now_ms = crate::clock::now_ms();
    let known = app.keyring.token(&request.join_token, &config.tenants, now_ms).await?;
    let Some(Role::Join { backfill }) = known else {
        return Err(ApiError::Unknown);
    };
    for (name, value) in [("cluster", &request.cluster), ("node", &request.node)] {
        if value.is_empty() || value.len() > 253 || value.chars().any(char::is_control) {
            return Err(ApiError::Wrong(format!("{name} must have 1 to 253 printable characters")));
        }
    }
    let credential = secret::new("smc").map_err(|e| ApiError::Busy(format!("no randomness: {e}")))?;
    let key =
        NodeKey { hash: secret::hash(&credential), cluster: request.cluster, node: request.node, backfill };
    app.writer.put_node_key(&key, false, now_ms).await?;
    tracing::info!(cluster = key.cluster, node = key.node, backfill, "a node enrolled");
    app.keyring.learn(key).await;
    Ok(Json(EnrolResponse { credential }))
}
