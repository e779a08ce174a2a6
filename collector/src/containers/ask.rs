//! One question over a Unix socket: Docker's Engine API, which Podman speaks too.

use super::inspect::{Inspected, inspected};
use super::sockets::Socket;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, SERVER};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::UnixStream;

/// What an answer may weigh; one with every label and mount that a daemon takes is some tens of kilobytes.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What a daemon says of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is one of its own.
    Found {
        /// `Docker` or `Podman`.
        daemon: &'static str,
        /// What it says.
        inspected: Inspected,
    },
    /// It knows no such container.
    Unknown,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens.
    #[error("could not connect")]
    Connect(#[source] std::io::Error),
    /// A user's socket that somebody else listens on.
    #[error("uid {0} listens there, who isn't the user")]
    Stranger(u32),
    /// Neither the container nor that there is none.
    #[error("it answered with status {0}")]
    Status(StatusCode),
    /// The connection broke, or what came isn't HTTP.
    #[error("the answer broke off")]
    Http(#[source] hyper::Error),
    /// An answer that is too large, or that broke off.
    #[error("the answer has no body of less than 1 MiB")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An answer about something else.
    #[error("the answer is no container's")]
    Decode(#[source] serde_json::Error),
    /// None in time.
    #[error("it didn't answer in time")]
    Deadline,
}

impl AskError {
    /// Whether the socket isn't there at all.
    pub fn is_absent(&self) -> bool {
        matches!(self, AskError::Connect(error) if error.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Asks the daemon at `socket` about the container `id`, once.
///
/// # Errors
/// There was no answer within `deadline`.
pub async fn ask(
    socket: &Socket,
    id: &str,
    labels: &[String],
    deadline: Duration,
) -> Result<Answer, AskError> {
    tokio::time::timeout(deadline, exchange(socket, id, labels)).await.unwrap_or(Err(AskError::Deadline))
}

async fn exchange(socket: &Socket, id: &str, labels: &[String]) -> Result<Answer, AskError> {
    let stream = UnixStream::connect(&socket.path).await.map_err(AskError::Connect)?;
    // A user's folder may hold a link to anything: what counts is who listens at its end.
    if let Some(uid) = socket.uid {
        let listener = stream.peer_cred().map_err(AskError::Connect)?.uid();
        if listener != uid {
            return Err(AskError::Stranger(listener));
        }
    }
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(AskError::Http)?;
    let request = Request::get(format!("/containers/{id}/json"))
        .header(HOST, "localhost")
        .body(Empty::<Bytes>::new())
        .expect("an id of hexadecimal digits makes a path");
    let question = async move {
        let response = sender.send_request(request).await.map_err(AskError::Http)?;
        let is_podman = response
            .headers()
            .get(SERVER)
            .is_some_and(|server| server.as_bytes().to_ascii_lowercase().starts_with(b"libpod"));
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(Answer::Unknown),
            status => return Err(AskError::Status(status)),
        }
        let body = Limited::new(response.into_body(), BODY_BYTES_MAX).collect().await;
        let body = body.map_err(AskError::Body)?.to_bytes();
        let daemon = if is_podman { "Podman" } else { "Docker" };
        let inspected = inspected(&body, id, labels).map_err(AskError::Decode)?;
        Ok(inspected.map_or(Answer::Unknown, |inspected| Answer::Found { daemon, inspected }))
    };
    let (mut question, mut connection) = (std::pin::pin!(question), std::pin::pin!(connection));
    tokio::select! {
        biased;
        answer = &mut question => answer,
        ended = &mut connection => match ended {
            Ok(()) => question.await,
            Err(error) => Err(AskError::Http(error)),
        },
    }
}
