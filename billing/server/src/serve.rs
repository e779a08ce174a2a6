//! The running service: the store, the writing task, the hour close and the HTTP listener; stopped in the reverse order.

use crate::app::App;
use crate::config::Loaded;
use crate::ingest::queue::Queue;
use crate::jobs;
use crate::keyring::Keyring;
use crate::metrics::Metrics;
use crate::open::open;
use crate::router::router;
use anyhow::Context;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long open requests may take to end once the service was told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The store can't be opened or the address is taken.
pub async fn serve(config: Loaded) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let opened = open(&config).await?;
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::new());
    let (stop, stopped) = watch::channel(false);
    let (queue, writing) = Queue::start(opened.store.writer());
    let closing = tokio::spawn(jobs::close::run(
        opened.store.closer(),
        config.cuts(),
        config.close_interval(),
        Arc::clone(&metrics),
        stopped.clone(),
    ));
    let app = App {
        reader: opened.store.reader(),
        writer: opened.store.writer(),
        queue,
        keyring: Arc::new(Keyring::new(opened.store.reader())),
        metrics,
        config: Arc::clone(&config),
    };
    let listen = config.file.listen;
    let listener =
        TcpListener::bind(listen).await.with_context(|| format!("listen: could not listen on {listen}"))?;
    tracing::info!(address = %listener.local_addr()?, "serving");
    let mut draining = stopped.clone();
    let http = tokio::spawn(
        axum::serve(listener, router(app))
            .with_graceful_shutdown(async move {
                // A closed channel means the same.
                let _ = draining.changed().await;
            })
            .into_future(),
    );
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    stop.send_replace(true);
    if tokio::time::timeout(DRAIN, http).await.is_err() {
        tracing::warn!("requests were still open; their senders will try again");
    }
    // The writing task ends when the last request has let go of the queue.
    if tokio::time::timeout(DRAIN, writing).await.is_err() {
        tracing::warn!("rows were still waiting; their senders will try again");
    }
    // A close that is cut off publishes nothing and is done again.
    let _ = tokio::time::timeout(DRAIN, closing).await;
    opened.close().await;
    Ok(())
}
