//! `POST /api/v1/batches`: a delivery in, a receipt out. 200 means that every batch is durable.

use super::auth::Node;
use super::error::ApiError;
use crate::app::App;
use crate::ingest::body::BodyError;
use crate::ingest::queue::QueueError;
use crate::ingest::{accept, body};
use crate::store::keys::NodeKey;
use crate::store::rows::Rows;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use schema::wire::{CONTENT_TYPE, DELIVERY_COMPRESSED_BYTES_MAX, Receipt};
use std::time::Instant;

/// Takes a delivery.
pub async fn create_batches(
    State(app): State<App>,
    Node(key): Node,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Receipt>, ApiError> {
    let taken = take(&app, key, &headers, body).await;
    let outcome = match &taken {
        Ok(_) => "stored",
        Err(ApiError::Busy(_) | ApiError::Store) => "busy",
        Err(_) => "refused",
    };
    app.metrics.deliveries.with_label_values(&[outcome]).inc();
    taken.map(Json)
}

async fn take(app: &App, key: NodeKey, headers: &HeaderMap, body: Body) -> Result<Receipt, ApiError> {
    check_headers(headers)?;
    let too_large = || {
        ApiError::TooLarge(format!(
            "a delivery has at most {DELIVERY_COMPRESSED_BYTES_MAX} bytes: send fewer batches at a time"
        ))
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|l| l > DELIVERY_COMPRESSED_BYTES_MAX) {
        return Err(too_large());
    }
    let compressed =
        axum::body::to_bytes(body, DELIVERY_COMPRESSED_BYTES_MAX).await.map_err(|_| too_large())?;
    let started = Instant::now();
    let now_ms = crate::clock::now_ms();
    // Decompressing and judging is milliseconds of pure work: not on a thread that others wait for.
    let judged = tokio::task::spawn_blocking(move || judge(&compressed, &key, now_ms)).await;
    let (rows, bytes) = judged.expect("judging doesn't panic").map_err(|error| match error {
        BodyError::TooLarge => ApiError::TooLarge(error.to_string()),
        other => ApiError::Wrong(other.to_string()),
    })?;
    let receipt = Receipt {
        batches: rows.batches.len() as u64,
        rows: rows.len() as u64,
        dead_letters: rows.dead_letters.len() as u64,
    };
    app.queue.store(rows, bytes).await.map_err(|error| match error {
        QueueError::Full | QueueError::Stopping => ApiError::Busy(error.to_string()),
        QueueError::Store(_) => ApiError::Store,
    })?;
    app.metrics.store_seconds.observe(started.elapsed().as_secs_f64());
    app.metrics.batches.inc_by(receipt.batches);
    app.metrics.rows.inc_by(receipt.rows);
    app.metrics.dead_letters.inc_by(receipt.dead_letters);
    Ok(receipt)
}

fn check_headers(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.get(header::CONTENT_TYPE).is_none_or(|v| v.as_bytes() != CONTENT_TYPE.as_bytes()) {
        return Err(ApiError::Unsupported(format!("send `Content-Type: {CONTENT_TYPE}`")));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ApiError::Unsupported(
            "the content type says how a delivery is compressed; send no Content-Encoding".into(),
        ));
    }
    Ok(())
}

/// The rows of a compressed delivery, and the bytes that it had decompressed.
fn judge(compressed: &[u8], key: &NodeKey, now_ms: i64) -> Result<(Rows, usize), BodyError> {
    let mut rows = Rows::default();
    let mut bytes = 0;
    for batch in body::batches(compressed)? {
        bytes += batch.len();
        rows.append(accept::accept(&batch, key, now_ms));
    }
    Ok((rows, bytes))
}
