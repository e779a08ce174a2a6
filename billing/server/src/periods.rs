//! The life of a period: checked, closed, verified, compared with what is known now, corrected. The arithmetic is
//! [`billing::closing`]; here it meets the store.

use crate::config::{ConfigError, Loaded};
use crate::jobs::rate::RatingError;
use crate::report::ReportError;
use crate::store::charges::HourRevision;
use crate::store::closing::{Closing, PostingRow};
use crate::store::{Reader, Store, StoreError};
use billing::charge::Charge;
use billing::closing::{Correction, HourPin, Manifest};
use billing::period::Period;
use billing::statement::Bill;
use serde::{Deserialize, Serialize};

mod close;
mod correct;
mod credits;
mod verify;
pub use close::{Outcome, check, close};
pub use correct::{Differences, correct, differences};
pub use credits::{Proposed, approve, proposed};
pub use verify::verify;

use close::ATTEMPTS_MAX;

/// What a posting holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// Its rows.
    pub charges: Vec<Charge>,
    /// What it corrects, where it does.
    pub correction: Option<Correction>,
}

/// Why a period can't be closed, compared or corrected.
#[derive(Debug, thiserror::Error)]
pub enum PeriodsError {
    /// Only calendar months are closed.
    #[error("{0} isn't a calendar month: periods are closed by the month, such as 2026-10")]
    NotAMonth(String),
    /// It isn't closed.
    #[error("{0} isn't closed: `slicemeter period close {0}` closes it")]
    NotClosed(String),
    /// It is closed.
    #[error("{0} is closed and never changes: post to an open period")]
    Closed(String),
    /// A close was overtaken again and again.
    #[error("hours of {0} were published again while it was closed, {ATTEMPTS_MAX} times: try again later")]
    Busy(String),
    /// What is stored isn't what the manifest says.
    #[error("the stored close of {period} isn't whole: {what}")]
    Broken {
        /// The period.
        period: String,
        /// What is wrong.
        what: String,
    },
    /// An archived configuration can't be read by this version.
    #[error(transparent)]
    Config(#[from] Box<ConfigError>),
    /// No bill can be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Days can't be rated.
    #[error(transparent)]
    Rating(#[from] RatingError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A closed period as it is kept.
struct Kept {
    closing: Closing,
    manifest: Manifest,
}

impl Kept {
    /// `None` where the period isn't closed.
    async fn find(reader: &Reader, period: &Period) -> Result<Option<Self>, PeriodsError> {
        let Some(closing) = reader.closing(period.label()).await? else { return Ok(None) };
        let manifest = serde_json::from_str(&closing.manifest).map_err(|error| PeriodsError::Broken {
            period: period.label().into(),
            what: format!("its manifest can't be read: {error}"),
        })?;
        Ok(Some(Self { closing, manifest }))
    }

    /// A period that must be closed.
    async fn of(reader: &Reader, period: &Period) -> Result<Self, PeriodsError> {
        let found = Self::find(reader, period).await?;
        found.ok_or_else(|| PeriodsError::NotClosed(period.label().into()))
    }

    /// The bill as it was posted.
    async fn bill(&self, reader: &Reader, period: &Period) -> Result<Bill, PeriodsError> {
        let sealed = reader.sealed(period.label(), self.closing.attempt).await?;
        let opened = self.manifest.open(&sealed);
        opened.map_err(|what| PeriodsError::Broken { period: period.label().into(), what })
    }
}

/// The bill of a closed period as it was posted; `None` where it isn't closed.
///
/// # Errors
/// The stored documents aren't what the manifest pins.
pub async fn closed_bill(reader: &Reader, period: &Period) -> Result<Option<Bill>, PeriodsError> {
    match Kept::find(reader, period).await? {
        Some(kept) => kept.bill(reader, period).await.map(Some),
        None => Ok(None),
    }
}

/// The hash of the hours that a period is made of, as a manifest has it.
fn hash_of_hours(hours: &[HourRevision]) -> String {
    let pins: Vec<HourPin> =
        hours.iter().map(|h| HourPin { hour_s: h.hour_s, revision: h.hour_revision }).collect();
    HourPin::hash_of_all(&pins)
}

/// The hash of what people posted, as a manifest has it.
fn hash_of_postings(postings: &[PostingRow]) -> String {
    let contents: Vec<&str> = postings.iter().map(|p| p.content.as_str()).collect();
    billing::place::hash_of(&contents.join("\n"))
}

/// Only an open calendar month takes postings.
async fn check_open(store: &Store, into: &Period) -> Result<(), PeriodsError> {
    if !into.is_month() {
        return Err(PeriodsError::NotAMonth(into.label().into()));
    }
    match store.reader().closing(into.label()).await? {
        Some(_) => Err(PeriodsError::Closed(into.label().into())),
        None => Ok(()),
    }
}

/// Posts rows to an open month. What a close at the very same moment leaves out is not lost: it is a difference of the closed
/// month, which [`correct`] posts to the next.
///
/// # Errors
/// The month is closed, or the store fails.
pub async fn post(
    store: &Store,
    into: &Period,
    kind: &str,
    posting_id: String,
    reason: &str,
    author: &str,
    posted: &Posted,
) -> Result<(), PeriodsError> {
    check_open(store, into).await?;
    let row = PostingRow {
        period: into.label().into(),
        posting_id,
        kind: kind.into(),
        author: author.into(),
        reason: reason.into(),
        content: serde_json::to_string(posted).expect("texts and numbers serialise"),
        posted_at_ms: crate::clock::now_ms(),
    };
    Ok(store.writer().post(&row).await?)
}

/// The rows that were posted to the months of a period.
///
/// # Errors
/// The store fails, or a posting can't be read.
pub async fn posted(reader: &Reader, period: &Period) -> Result<Vec<Charge>, StoreError> {
    let months: Vec<String> = period.months().iter().map(|month| month.label().to_owned()).collect();
    let mut charges = Vec::new();
    for posting in reader.postings(&months).await? {
        charges.extend(content_of(&posting)?.charges);
    }
    Ok(charges)
}

fn content_of(posting: &PostingRow) -> Result<Posted, StoreError> {
    serde_json::from_str(&posting.content)
        .map_err(|error| StoreError::Unreadable { what: "a posting", why: error.to_string() })
}

/// The configuration that a period was closed with: its price book and tenants as they were.
///
/// # Errors
/// A version isn't kept, or can't be read by this software.
pub async fn archived(reader: &Reader, config: &Loaded, period: &Period) -> Result<Loaded, PeriodsError> {
    let Some(kept) = Kept::find(reader, period).await? else { return Ok(config.clone()) };
    let inputs = kept.manifest.inputs;
    let mut archived = config.clone();
    for (file, version) in [("tenants.toml", &inputs.mapping), ("prices.toml", &inputs.prices)] {
        let content = reader.config_content(file, &version.hash).await?;
        let content = content.ok_or_else(|| PeriodsError::Broken {
            period: period.label().into(),
            what: format!("{file} v{} isn't kept any more", version.number),
        })?;
        archived = archived.with(file, &content).map_err(Box::new)?;
    }
    Ok(archived)
}
