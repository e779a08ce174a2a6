//! The running service: the store, the writing task, the hour close and the HTTP listener; stopped in the reverse order.

use crate::app::App;
use crate::config::Loaded;
use crate::current::Current;
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

/// Rounds of the hour close between two looks at what ended tenants still use.
const ENDED_USE_ROUNDS: u32 = 10;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The store can't be opened or the address is taken.
pub async fn serve(config: Loaded) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hangup = signal(SignalKind::hangup())?;
    let opened = open(&config).await?;
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::new());
    let (stop, stopped) = watch::channel(false);
    let (queue, writing) = Queue::start(opened.store.writer());
    let (in_force, current) = Current::new(Arc::clone(&config));
    let (edit, edited) = watch::channel(Arc::clone(&config));
    let closing = tokio::spawn(jobs::settle::run(
        opened.store.clone(),
        edited,
        in_force,
        Arc::clone(&metrics),
        stopped.clone(),
    ));
    let reloading = tokio::spawn(jobs::reload::run(
        opened.store.clone(),
        edit,
        Arc::clone(&metrics),
        hangup,
        stopped.clone(),
    ));
    let looking = tokio::spawn(jobs::ended_use::run(
        opened.store.reader(),
        current.clone(),
        ENDED_USE_ROUNDS * config.close_interval(),
        Arc::clone(&metrics),
        stopped.clone(),
    ));
    let app = App {
        reader: opened.store.reader(),
        writer: opened.store.writer(),
        queue,
        keyring: Arc::new(Keyring::new(opened.store.reader())),
        metrics,
        config: current,
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
    let _ = tokio::time::timeout(DRAIN, reloading).await;
    let _ = tokio::time::timeout(DRAIN, looking).await;
    opened.close().await;
    Ok(())
}
