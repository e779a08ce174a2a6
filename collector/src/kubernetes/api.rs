//! Questions to the API server over HTTP: a page of a list, one object, a watch. Nothing is kept here.

use super::config::KubernetesConfig;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// The largest object line or page that is read, bytes: etcd refuses objects over 1.5 MiB, and a page has 250.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The largest line of a watch, bytes.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// How long the server is asked to keep a watch open, seconds. It then ends and is taken up where it was.
pub const WATCH_SECONDS: u32 = 240;

/// A connection that is silent for longer than any watch lasts is dead.
const SILENCE_MAX: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 30);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Why the API server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// It answered with an HTTP error.
    #[error("the API server answered {status} to {path}")]
    Status {
        /// HTTP status.
        status: u16,
        /// What was asked.
        path: String,
    },
    /// It couldn't be reached, or went away.
    #[error("the API server can't be reached for {path}")]
    Http {
        /// What was asked.
        path: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The connection broke within an answer.
    #[error("the connection to the API server broke")]
    Broken(#[source] std::io::Error),
    /// What it said isn't what we know.
    #[error("the API server's answer can't be read")]
    Decode(#[source] serde_json::Error),
    /// The version to watch from is too old: list again.
    #[error("the version to watch from is gone")]
    Gone,
    /// A watch's line is over its bound.
    #[error("an object of the API server is over {LINE_BYTES_MAX} bytes")]
    TooLarge,
}

impl ApiError {
    /// In one word, for a metric's label.
    pub fn reason(&self) -> &'static str {
        match self {
            ApiError::Status { status: 401, .. } => "unauthorized",
            ApiError::Status { status: 403, .. } => "forbidden",
            ApiError::Status { status: 404, .. } => "not_found",
            ApiError::Status { status: 410, .. } | ApiError::Gone => "gone",
            ApiError::Status { status: 429, .. } => "rate_limited",
            ApiError::Status { .. } => "http_status",
            ApiError::Http { .. } => "unreachable",
            ApiError::Broken(_) => "disconnected",
            ApiError::Decode(_) => "undecodable",
            ApiError::TooLarge => "too_large",
        }
    }
}

/// The API server, and how to be let in.
#[derive(Debug, Clone)]
pub struct Api {
    agent: ureq::Agent,
    base: String,
    token_file: PathBuf,
}

impl Api {
    /// The API server at `base`, with the configuration's token and certificate authority.
    pub fn new(base: String, config: &KubernetesConfig) -> Self {
        let certificates: Vec<_> = std::fs::read(&config.ca_file)
            .map(|pem| {
                let items = parse_pem(&pem).filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                });
                items.collect()
            })
            .unwrap_or_default();
        let roots = if certificates.is_empty() {
            RootCerts::WebPki
        } else {
            RootCerts::Specific(Arc::new(certificates))
        };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .user_agent("slicemeter-collector")
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .timeout_per_read(Some(SILENCE_MAX))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build()
            .new_agent();
        Self { agent, base, token_file: config.token_file.clone() }
    }

    fn open(&self, path: &str, accept: &str) -> Result<ureq::Body, ApiError> {
        let mut request = self.agent.get(format!("{}{path}", self.base)).header("Accept", accept);
        // The kubelet writes a new token about every hour.
        if let Ok(token) = std::fs::read_to_string(&self.token_file) {
            request = request.header("Authorization", format!("Bearer {}", token.trim()));
        }
        let answer = request
            .call()
            .map_err(|source| ApiError::Http { path: path.into(), source: Box::new(source) })?;
        match answer.status().as_u16() {
            200 => Ok(answer.into_body()),
            status => Err(ApiError::Status { status, path: path.into() }),
        }
    }

    /// One JSON answer, parsed as it comes in.
    ///
    /// # Errors
    /// No answer, or one that can't be read.
    pub fn get<T: DeserializeOwned>(&self, path: &str, accept: &str) -> Result<T, ApiError> {
        let body = self.open(path, accept)?.into_reader().take(ANSWER_BYTES_MAX);
        serde_json::from_reader(BufReader::new(body)).map_err(ApiError::Decode)
    }

    /// A watch: lines until the server ends it.
    ///
    /// # Errors
    /// The watch was refused.
    pub fn watch(&self, path: &str, accept: &str) -> Result<Lines, ApiError> {
        Ok(Lines { body: BufReader::new(self.open(path, accept)?.into_reader()), line: Vec::new() })
    }
}

/// The lines of a watch.
pub struct Lines {
    body: BufReader<ureq::BodyReader<'static>>,
    line: Vec<u8>,
}

impl Lines {
    /// The next line; `None` where the server has ended the watch.
    ///
    /// # Errors
    /// The connection broke, or the line is over its bound.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, ApiError> {
        self.line.clear();
        let read = (&mut self.body)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut self.line)
            .map_err(ApiError::Broken)?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.last() != Some(&b'\n') && read as u64 == LINE_BYTES_MAX {
            return Err(ApiError::TooLarge);
        }
        Ok(Some(&self.line))
    }
}
