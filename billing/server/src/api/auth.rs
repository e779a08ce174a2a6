//! Who asks: a node by its credential, a person by a token in the header or in the cookie that `/login` sets.

use super::error::ApiError;
use crate::app::App;
use crate::current::Snapshot;
use crate::store::keys::{NodeKey, Role};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

/// Name of the cookie that carries a token.
pub const COOKIE: &str = "slicemeter_token";

/// A node that may deliver.
pub struct Node(pub NodeKey);

/// What a person may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Operator,
    /// One tenant's statements.
    Tenant(String),
}

impl Scope {
    /// Whether this tenant's figures may be seen.
    pub fn sees(&self, tenant: &str) -> bool {
        match self {
            Self::Operator => true,
            Self::Tenant(own) => own == tenant,
        }
    }
}

/// The bearer token of a request.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get(header::COOKIE)?.to_str().ok()?;
    all.split("; ").find_map(|pair| pair.strip_prefix(COOKIE)?.strip_prefix('='))
}

impl FromRequestParts<App> for Node {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let credential = bearer(&parts.headers).ok_or(ApiError::Unknown)?;
        let key = app.keyring.node(credential, crate::clock::now_ms()).await?;
        key.map(Node).ok_or(ApiError::Unknown)
    }
}

impl FromRequestParts<App> for Scope {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let token = bearer(&parts.headers).or_else(|| cookie(&parts.headers)).ok_or(ApiError::Unknown)?;
        let token = token.to_owned();
        let config = Snapshot::of(parts, app);
        match app.keyring.token(&token, &config.tenants, crate::clock::now_ms()).await? {
            Some(Role::Operator) => Ok(Self::Operator),
            Some(Role::Tenant(tenant)) => Ok(Self::Tenant(tenant)),
            Some(Role::Join { .. }) | None => Err(ApiError::Unknown),
        }
    }
}
