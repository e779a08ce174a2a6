//! The configuration in force: replaced as a whole when a file was edited, and one snapshot for the length of a request.

use crate::app::App;
use crate::config::Loaded;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;

/// Reads the configuration in force.
#[derive(Clone)]
pub struct Current(watch::Receiver<Arc<Loaded>>);

impl Current {
    /// A configuration that whoever holds the sender may replace.
    pub fn new(loaded: Arc<Loaded>) -> (watch::Sender<Arc<Loaded>>, Self) {
        let (sender, receiver) = watch::channel(loaded);
        (sender, Self(receiver))
    }

    /// A configuration that stays.
    pub fn fixed(loaded: Loaded) -> Self {
        Self::new(Arc::new(loaded)).1
    }

    /// What is in force now; it doesn't change under whoever holds it.
    pub fn now(&self) -> Arc<Loaded> {
        Arc::clone(&self.0.borrow())
    }
}

/// The configuration that a request sees from its first check to its last byte.
pub struct Snapshot(pub Arc<Loaded>);

impl Snapshot {
    /// That of a request, taken when it is first asked for.
    pub fn of(parts: &mut Parts, app: &App) -> Arc<Loaded> {
        Arc::clone(parts.extensions.get_or_insert_with(|| app.config.now()))
    }
}

impl FromRequestParts<App> for Snapshot {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self(Self::of(parts, app)))
    }
}
