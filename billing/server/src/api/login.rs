//! `GET /login?token=`: a browser gets a cookie in place of a header, and is sent home.

use super::auth::COOKIE;
use super::error::ApiError;
use crate::app::App;
use crate::current::Snapshot;
use crate::store::keys::Role;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// The token.
#[derive(Deserialize)]
pub struct Params {
    token: String,
}

/// Sets the cookie if the token is known. The token holds no character that a cookie can't.
pub async fn get_login(
    State(app): State<App>,
    Snapshot(config): Snapshot,
    Query(params): Query<Params>,
) -> Result<Response, ApiError> {
    match app.keyring.token(&params.token, &config.tenants, crate::clock::now_ms()).await? {
        Some(Role::Operator | Role::Tenant(_)) => {
            let cookie =
                format!("{COOKIE}={}; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000", params.token);
            Ok((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".into())])
                .into_response())
        }
        _ => Err(ApiError::Unknown),
    }
}
