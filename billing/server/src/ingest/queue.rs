//! One task that groups concurrent deliveries into one insert a table, so that many small requests make few parts.
//!
//! A delivery is answered when its group is durable. The queue is bounded by bytes: past that the service says so at once
//! and the node's spool keeps the rows.

use crate::store::rows::Rows;
use crate::store::{StoreError, Writer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Decoded bytes that may wait or be in flight, in KiB.
const QUEUE_KIB: usize = 64 << 10;
/// A group is inserted at this many rows; an insert stays far below the million at which the engine would split it.
const GROUP_ROWS: usize = 50_000;
/// How long a group waits for company.
const LINGER: Duration = Duration::from_millis(20);

/// Why a delivery wasn't stored. The sender tries again; that never counts twice.
#[derive(Debug, Clone, thiserror::Error)]
pub enum QueueError {
    /// Too much is waiting already.
    #[error("the queue is full")]
    Full,
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
    /// The store refused or can't be reached.
    #[error("the store did not take the rows")]
    Store(#[source] Arc<StoreError>),
}

struct Waiting {
    rows: Rows,
    _room: OwnedSemaphorePermit,
    done: oneshot::Sender<Result<(), QueueError>>,
}

/// Hands rows to the writing task; cheap to clone.
#[derive(Clone)]
pub struct Queue {
    sender: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

impl Queue {
    /// Starts the writing task. It ends, with everything stored that was taken, when the last `Queue` is dropped.
    pub fn start(writer: Writer) -> (Self, tokio::task::JoinHandle<()>) {
        // Each waiting delivery holds at least one KiB of room, so the channel can't be the tighter limit.
        let (sender, receiver) = mpsc::channel(QUEUE_KIB);
        let task = tokio::spawn(write(writer, receiver));
        (Self { sender, room: Arc::new(Semaphore::new(QUEUE_KIB)) }, task)
    }

    /// Stores rows that were decoded from `bytes` bytes; returns once they are durable.
    ///
    /// # Errors
    /// See [`QueueError`].
    pub async fn store(&self, rows: Rows, bytes: usize) -> Result<(), QueueError> {
        let kib = u32::try_from(bytes.div_ceil(1024).clamp(1, QUEUE_KIB)).expect("no more than the queue");
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib).map_err(|_| QueueError::Full)?;
        let (done, answer) = oneshot::channel();
        self.sender.send(Waiting { rows, _room: room, done }).await.map_err(|_| QueueError::Stopping)?;
        answer.await.unwrap_or(Err(QueueError::Stopping))
    }
}

async fn write(writer: Writer, mut receiver: mpsc::Receiver<Waiting>) {
    while let Some(first) = receiver.recv().await {
        let mut waiting = vec![first];
        let mut rows = std::mem::take(&mut waiting[0].rows);
        let deadline = tokio::time::Instant::now() + LINGER;
        while rows.len() < GROUP_ROWS {
            match tokio::time::timeout_at(deadline, receiver.recv()).await {
                Ok(Some(mut next)) => {
                    rows.append(std::mem::take(&mut next.rows));
                    waiting.push(next);
                }
                Ok(None) | Err(_) => break,
            }
        }
        let stored = writer.append(&rows).await.map_err(Arc::new);
        if let Err(error) = &stored {
            tracing::warn!(
                rows = rows.len(),
                error = crate::error::chain(error.as_ref()),
                "store refused a group"
            );
        }
        for w in waiting {
            // A sender that went away gets no answer and will send again.
            let _ = w.done.send(stored.clone().map_err(QueueError::Store));
        }
    }
}
