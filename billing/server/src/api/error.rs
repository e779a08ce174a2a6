//! Every refusal in one shape, `{"errors": [{"detail": "..."}]}`, made in one place.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request wasn't done.
#[derive(Debug)]
pub enum ApiError {
    /// The request is wrong: 400.
    Wrong(String),
    /// No known secret came with it: 401.
    Unknown,
    /// Nothing here, or nothing that this token may see: 404. One text for both, so that they can't be told apart.
    NotFound,
    /// The body is too large: 413.
    TooLarge(String),
    /// The body isn't of the kind that is taken here: 415.
    Unsupported(String),
    /// Not now: 503, with a time after which to try again.
    Busy(String),
    /// The store failed; logged where it happened: 503.
    Store,
}

impl From<crate::store::StoreError> for ApiError {
    fn from(error: crate::store::StoreError) -> Self {
        tracing::warn!(error = crate::error::chain(&error), "the store failed a request");
        Self::Store
    }
}

/// Seconds after which to try again: some apart for each, so that a fleet doesn't come back at once.
fn retry_after_s() -> u64 {
    2 + u64::try_from(crate::clock::now_ms()).unwrap_or(0) % 7
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Self::Wrong(detail) => (StatusCode::BAD_REQUEST, detail),
            Self::Unknown => (
                StatusCode::UNAUTHORIZED,
                "no known token: send `Authorization: Bearer TOKEN`, or open /login?token=TOKEN in a browser"
                    .into(),
            ),
            Self::NotFound => (StatusCode::NOT_FOUND, "not found".into()),
            Self::TooLarge(detail) => (StatusCode::PAYLOAD_TOO_LARGE, detail),
            Self::Unsupported(detail) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, detail),
            Self::Busy(detail) => (StatusCode::SERVICE_UNAVAILABLE, detail),
            Self::Store => (StatusCode::SERVICE_UNAVAILABLE, "the store can't be reached; try again".into()),
        };
        let mut response = (status, Json(json!({"errors": [{"detail": detail}]}))).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s()));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
