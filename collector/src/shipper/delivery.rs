//! One delivery: framed, compressed, posted, its answer understood.

use schema::wire::{CONTENT_TYPE, DELIVERY_BYTES_MAX, DELIVERY_COMPRESSED_BYTES_MAX, Receipt, frame_batch};
use std::sync::OnceLock;
use std::time::Duration;
use ureq::Agent;

/// The longest answer that is read: a receipt is a hundred bytes.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// A server that takes longer than this over a delivery is treated as not there.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Level 3 halves what is sent against level 1 for a millisecond more a day.
const ZSTD_LEVEL: i32 = 3;

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Durable at the server.
    Accepted(Receipt),
    /// Not now; the server may have said how long to wait.
    Later {
        /// Why, for the log.
        why: String,
        /// The server's wish.
        wait: Option<Duration>,
    },
    /// Too large: send fewer batches at once.
    TooLarge,
    /// These bytes will never be taken.
    Refused(String),
    /// The credential isn't good.
    Unauthorized,
}

/// Why [`deliver`] gave up.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The server took a part of it or nothing.
    #[error("the server didn't take the batches: {0}")]
    Server(String),
    /// Compression failed.
    #[error("a delivery could not be compressed")]
    Compress(#[from] std::io::Error),
}

/// The HTTP client: one connection kept, statuses as values.
pub(super) fn agent() -> &'static Agent {
    static AGENT: OnceLock<Agent> = OnceLock::new();
    AGENT.get_or_init(|| {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0);
        config.build().into()
    })
}

/// The URL of an API path under a base with or without a slash at its end.
pub(super) fn url(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

/// Posts these encoded batches once.
///
/// # Errors
/// Compression failed; everything that the network or server does is an [`Outcome`].
pub fn send(base: &str, credential: &str, batches: &[Vec<u8>]) -> Result<Outcome, std::io::Error> {
    let mut plain = Vec::with_capacity(batches.iter().map(|batch| batch.len() + 8).sum());
    batches.iter().for_each(|batch| frame_batch(&mut plain, batch));
    let body = zstd::bulk::compress(&plain, ZSTD_LEVEL)?;
    if plain.len() > DELIVERY_BYTES_MAX || body.len() > DELIVERY_COMPRESSED_BYTES_MAX {
        return Ok(Outcome::TooLarge);
    }
    let request = agent()
        .post(url(base, "/api/v1/batches"))
        .header("authorization", format!("Bearer {credential}"))
        .header("content-type", CONTENT_TYPE);
    Ok(match request.send(&body[..]) {
        Err(error) => Outcome::Later { why: error.to_string(), wait: None },
        Ok(mut response) => {
            let status = response.status().as_u16();
            let wait = response
                .headers()
                .get("retry-after")
                .and_then(|v| v.to_str().ok()?.parse().ok())
                .map(Duration::from_secs);
            let text = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
            understand(status, wait, text.map_err(|error| error.to_string()))
        }
    })
}

fn understand(status: u16, wait: Option<Duration>, text: Result<String, String>) -> Outcome {
    match (status, text) {
        (200..=299, Ok(text)) => match serde_json::from_str(&text) {
            Ok(receipt) => Outcome::Accepted(receipt),
            Err(error) => Outcome::Later { why: format!("the answer is no receipt: {error}"), wait },
        },
        (200..=299, Err(why)) => Outcome::Later { why, wait },
        (413, _) => Outcome::TooLarge,
        (401 | 403, _) => Outcome::Unauthorized,
        (400 | 415 | 422, text) => Outcome::Refused(format!("{status}: {}", text.unwrap_or_default())),
        (status, text) => Outcome::Later { why: format!("{status}: {}", text.unwrap_or_default()), wait },
    }
}

/// Ships batches without a spool, in deliveries within the wire's limits; for simulations and imports.
///
/// # Errors
/// The server didn't take one of the deliveries; those before it are durable, and all may be sent again.
pub fn deliver(base: &str, credential: &str, batches: &[Vec<u8>]) -> Result<Receipt, DeliverError> {
    let mut sum = Receipt { batches: 0, rows: 0, dead_letters: 0 };
    let mut rest = batches;
    let mut most = usize::MAX;
    while !rest.is_empty() {
        let count = fitting(rest).min(most);
        match send(base, credential, &rest[..count])? {
            Outcome::Accepted(receipt) => {
                sum.batches += receipt.batches;
                sum.rows += receipt.rows;
                sum.dead_letters += receipt.dead_letters;
                rest = &rest[count..];
            }
            Outcome::TooLarge if count > 1 => most = count / 2,
            other => return Err(DeliverError::Server(format!("{other:?}"))),
        }
    }
    Ok(sum)
}

/// How many batches from the front fit one delivery; at least one.
pub(super) fn fitting(batches: &[Vec<u8>]) -> usize {
    let mut bytes = 0;
    let fits = batches.iter().take_while(|batch| {
        bytes += batch.len() + 8;
        bytes <= DELIVERY_BYTES_MAX / 2
    });
    fits.count().max(1)
}
