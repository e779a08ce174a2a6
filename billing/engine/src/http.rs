//! The HTTP interface of ClickHouse on loopback, as far as its clients use it.
//!
//! `/ping` answers without a secret and without waiting for a query. A query needs the secret, a
//! place among the few that run or wait, and its whole body in memory before it starts.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::connection::Engine;
use crate::exception::{Code, Exception};
use crate::ffi::Statistics;
use crate::query::{self, Reply};
use crate::{random_hex, request};

/// Open connections; more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 512;
/// A body's largest size. An insert is one block in memory, several times its size.
const BODY_BYTES_MAX: usize = 256 << 20;
/// Bodies in memory, all requests together, in mebibytes.
const BODIES_MEBIBYTES_MAX: usize = 1024;
/// Time between two pieces of a body; a sender that stalls gives its place up.
const BODY_STALL: Duration = Duration::from_secs(60);
/// Time for a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests that wait for one of the running places.
const WAITING_MAX: usize = 256;
/// Time for the text of an exception to leave before a stream is broken off.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What every request needs.
pub struct Front {
    engine: Arc<Engine>,
    secret: String,
    /// Requests that run or wait.
    places: Arc<Semaphore>,
    /// Requests that run.
    running: Arc<Semaphore>,
    /// Mebibytes of bodies.
    bodies: Arc<Semaphore>,
}

impl Front {
    /// Lets `concurrency` queries run at once.
    pub fn new(engine: Arc<Engine>, secret: String, concurrency: usize) -> Arc<Self> {
        Arc::new(Front {
            engine,
            secret,
            places: Arc::new(Semaphore::new(concurrency + WAITING_MAX)),
            running: Arc::new(Semaphore::new(concurrency)),
            bodies: Arc::new(Semaphore::new(BODIES_MEBIBYTES_MAX)),
        })
    }

    /// Accepts for ever.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> Infallible {
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let permit = connections.clone().acquire_owned().await.expect("never closed");
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, mostly: connections that end give some back.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let front = self.clone();
            tokio::spawn(async move {
                let service = hyper::service::service_fn(move |request| {
                    let front = front.clone();
                    async move { Ok::<_, Infallible>(front.handle(request).await) }
                });
                let served = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service);
                if let Err(error) = served.await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(permit);
            });
        }
    }

    async fn handle(&self, request: hyper::Request<Incoming>) -> Response<Answer> {
        let query_id = request
            .uri()
            .query()
            .and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("query_id=")))
            .map_or_else(|| random_hex(16), str::to_owned);
        let mut response = match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/ping") => Response::new(Answer::text("Ok.\n")),
            (&Method::GET, "/") if request.uri().query().is_none() => Response::new(Answer::text("Ok.\n")),
            (&Method::GET | &Method::POST, "/") => match self.answer(request).await {
                Ok(response) => response,
                Err(exception) => failure(&exception),
            },
            (_, path) => {
                let text = format!("There is no handle {path}: use / with a query, or /ping\n");
                let mut response = Response::new(Answer::text(text));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        };
        let headers = response.headers_mut();
        headers.insert("x-clickhouse-server-display-name", "slicemeter-engine".parse().expect("plain text"));
        headers.insert("x-clickhouse-timezone", "UTC".parse().expect("plain text"));
        if let Ok(query_id) = query_id.parse() {
            headers.insert("x-clickhouse-query-id", query_id);
        }
        response
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> Result<Response<Answer>, Exception> {
        let (parts, body) = request.into_parts();
        let url = request::url_parameters(&parts)?;
        request::authenticate(request::secret(&parts, &url).as_deref(), &self.secret)?;
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            Exception::new(
                Code::TooManyQueries,
                format!("{WAITING_MAX} queries are waiting already: try again later"),
            )
        })?;
        let (body, memory) = self.collect(body).await?;
        let request = request::read(&parts, url, body)?;
        let running = self.running.clone().acquire_owned().await.expect("never closed");

        let (sender, receiver) = oneshot::channel();
        let engine = self.engine.clone();
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            query::run(&engine, request, sender, &runtime);
            drop((place, memory, running));
        });
        let gone = |_| Exception::new(Code::EngineUnavailable, "The query ended without an answer");
        Ok(success(receiver.await.map_err(gone)??))
    }

    /// The whole body. One that ends before its length or its last chunk is an error, and nothing of
    /// it reaches the engine.
    async fn collect(&self, mut body: Incoming) -> Result<(Bytes, Vec<OwnedSemaphorePermit>), Exception> {
        let too_large = || {
            Exception::new(
                Code::TooLarge,
                format!("The body is over {BODY_BYTES_MAX} bytes: send smaller inserts"),
            )
        };
        if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
            return Err(too_large());
        }
        let mut collected = Vec::new();
        let mut memory: Vec<OwnedSemaphorePermit> = Vec::new();
        loop {
            let frame = tokio::time::timeout(BODY_STALL, body.frame()).await.map_err(|_| {
                Exception::new(Code::Timeout, "The body of the request stalled: nothing was written")
            })?;
            let Some(frame) = frame else { return Ok((collected.into(), memory)) };
            let frame = frame.map_err(|error| {
                Exception::new(
                    Code::CannotReadAllData,
                    format!("The body of the request was cut ({error}): nothing was written"),
                )
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if collected.len() + data.len() > BODY_BYTES_MAX {
                return Err(too_large());
            }
            collected.extend_from_slice(&data);
            while memory.len() << 20 < collected.len() {
                memory.push(self.bodies.clone().try_acquire_owned().map_err(|_| {
                    Exception::new(
                        Code::TooManyQueries,
                        "The bodies of all requests together are over the limit: try again later",
                    )
                })?);
            }
        }
    }
}

/// A response's body.
pub enum Answer {
    /// All of it.
    Whole(Option<Bytes>),
    /// Chunks as they come, and what marks an exception among them.
    Chunks { chunks: mpsc::Receiver<Result<Bytes, Exception>>, tag: String },
    /// An exception has been sent; the connection is broken off when this time is over.
    Breaking(Pin<Box<tokio::time::Sleep>>),
}

impl Answer {
    fn text(text: impl Into<Bytes>) -> Self {
        Answer::Whole(Some(text.into()))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Exception;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Exception>>> {
        match &mut *self {
            Answer::Whole(bytes) => Poll::Ready(
                bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))),
            ),
            Answer::Chunks { chunks, tag } => match std::task::ready!(chunks.poll_recv(context)) {
                None => Poll::Ready(None),
                Some(Ok(chunk)) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
                Some(Err(exception)) => {
                    let last = last_words(&exception, tag);
                    *self = Answer::Breaking(Box::pin(tokio::time::sleep(LAST_WORDS)));
                    Poll::Ready(Some(Ok(Frame::data(last))))
                }
            },
            Answer::Breaking(time) => {
                std::task::ready!(time.as_mut().poll(context));
                Poll::Ready(Some(Err(Exception::new(Code::CannotReadAllData, "The stream broke off"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Answer::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Answer::Whole(bytes) => {
                hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Answer::Chunks { .. } | Answer::Breaking(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// An exception inside a stream, framed as ClickHouse does since 25.11: clients look for the tag.
fn last_words(exception: &Exception, tag: &str) -> Bytes {
    let message = format!("{}\n", exception.message);
    format!("\r\n__exception__\r\n{tag}\r\n{message}{} {tag}\r\n__exception__\r\n", message.len()).into()
}

fn success(reply: Reply) -> Response<Answer> {
    let (format, statistics, answer) = match reply {
        Reply::Whole { format, body, statistics } => (format, statistics, Answer::Whole(Some(body))),
        Reply::Stream { format, chunks } => {
            (format, Statistics::default(), Answer::Chunks { chunks, tag: random_hex(8) })
        }
    };
    let tag = match &answer {
        Answer::Chunks { tag, .. } => Some(tag.clone()),
        Answer::Whole(_) | Answer::Breaking(_) => None,
    };
    let mut response = Response::new(answer);
    let headers = response.headers_mut();
    headers.insert("content-type", format.media_type.parse().expect("a media type of our list"));
    headers.insert("x-clickhouse-format", format.name.parse().expect("a name of our list"));
    headers.insert("x-clickhouse-summary", summary(&statistics).parse().expect("plain JSON"));
    if let Some(tag) = tag {
        headers.insert("x-clickhouse-exception-tag", tag.parse().expect("hexadecimal"));
    }
    response
}

fn summary(statistics: &Statistics) -> String {
    let Statistics { result_rows, read_rows, read_bytes, written_rows, written_bytes } = statistics;
    format!(
        "{{\"read_rows\":\"{read_rows}\",\"read_bytes\":\"{read_bytes}\",\"written_rows\":\"{written_rows}\",\
         \"written_bytes\":\"{written_bytes}\",\"total_rows_to_read\":\"0\",\"result_rows\":\"{result_rows}\",\"result_bytes\":\"0\"}}"
    )
}

fn failure(exception: &Exception) -> Response<Answer> {
    let mut response = Response::new(Answer::text(format!("{}\n", exception.message)));
    *response.status_mut() = StatusCode::from_u16(exception.status()).expect("a status of our list");
    let headers = response.headers_mut();
    headers.insert("content-type", "text/plain; charset=UTF-8".parse().expect("plain text"));
    headers.insert("x-clickhouse-exception-code", exception.code.into());
    if exception.status() == 401 {
        headers.insert(
            "www-authenticate",
            "Basic realm=\"ClickHouse server HTTP API\"".parse().expect("plain text"),
        );
    }
    if exception.status() == 503 {
        headers.insert("retry-after", 1.into());
    }
    response
}
