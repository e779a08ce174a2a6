//! The life of a period: checked, closed, verified, compared with what is known now, corrected. The arithmetic is
//! [`billing::closing`]; here it meets the store.

use crate::config::{ConfigError, Loaded};
use crate::jobs::rate::{RatingError, dirty_days};
use crate::jobs::settle::settle;
use crate::report::{self, ReportError};
use crate::store::charges::HourRevision;
use crate::store::closing::{Closing, ClosingRow, PostingRow};
use crate::store::{Reader, Store, StoreError};
use billing::charge::Charge;
use billing::closing::{
    Correction, Delta, Facts, Finding, HourPin, Inputs, Item, Manifest, Waiver, corrections, diff, findings,
    seal,
};
use billing::period::Period;
use billing::rating::METHOD;
use billing::statement::{Bill, Closed, Status};
use schema::units::HOUR_MS;
use serde::{Deserialize, Serialize};

/// How often a close starts again because hours were published meanwhile.
const ATTEMPTS_MAX: u32 = 20;

/// Version and revision of the software, as a manifest names it.
const SOFTWARE: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLICEMETER_REVISION"), ")");

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

/// What a close did.
#[derive(Debug)]
pub enum Outcome {
    /// It is closed, by this call or an earlier one.
    Closed(Box<Closing>),
    /// This stands in the way.
    Refused(Vec<Finding>),
}

/// What stands in the way of closing a period, with its bill as it would be closed.
///
/// # Errors
/// See [`PeriodsError`].
pub async fn check(
    store: &Store,
    config: &Loaded,
    period: &Period,
) -> Result<(Bill, Vec<Finding>), PeriodsError> {
    settle(store, config, period.window()).await?;
    let reader = store.reader();
    let bill = report::live_bill(&reader, config, period).await?;
    let found = findings(&bill, &facts(&reader, period).await?);
    Ok((bill, found))
}

async fn facts(reader: &Reader, period: &Period) -> Result<Facts, StoreError> {
    let window = period.window();
    let (published, dead_letters, late) = tokio::try_join!(
        reader.published(window),
        reader.dead_letters(window),
        reader.late_nodes(window.end_ms)
    )?;
    let span = i64::from(published.last_hour_s.saturating_sub(published.first_hour_s)) * 1000 / HOUR_MS + 1;
    Ok(Facts {
        over: crate::clock::now_ms() >= window.end_ms,
        missing_hours: span - i64::try_from(published.hours).unwrap_or(i64::MAX),
        dead_letters,
        late,
        contested: published.contested,
    })
}

/// Closes a month. What stands in the way and isn't waived refuses; a month that is closed stays as it is. Two that close at
/// once agree on one.
///
/// # Errors
/// See [`PeriodsError`]; nothing is closed then.
pub async fn close(
    store: &Store,
    config: &Loaded,
    period: &Period,
    waived: &[(Item, String)],
    author: &str,
) -> Result<Outcome, PeriodsError> {
    let label = period.label();
    if !period.is_month() {
        return Err(PeriodsError::NotAMonth(label.into()));
    }
    if let Some(closing) = store.reader().closing(label).await? {
        return Ok(Outcome::Closed(Box::new(closing)));
    }
    for _ in 0..ATTEMPTS_MAX {
        let (bill, found) = check(store, config, period).await?;
        let waiver = |finding: &Finding| {
            let reason = waived.iter().find(|(item, _)| *item == finding.item && item.can_be_waived())?;
            Some(Waiver { item: finding.item, finding: finding.what.clone(), reason: reason.1.clone() })
        };
        let waivers: Vec<Waiver> = found.iter().filter_map(waiver).collect();
        if waivers.len() < found.len() {
            let refused = found.into_iter().filter(|f| waiver(f).is_none()).collect();
            return Ok(Outcome::Refused(refused));
        }
        // The hours that the bill was made of: any that is published meanwhile makes a day dirty.
        let hours = store.reader().revisions(period.window()).await?;
        let rules = config.rules_name();
        if !dirty_days(&store.reader(), &rules, config.zone, period.window()).await?.is_empty() {
            continue;
        }
        if let Some(closing) = try_close(store, config, period, bill, &hours, waivers, author).await? {
            return Ok(Outcome::Closed(Box::new(closing)));
        }
    }
    Err(PeriodsError::Busy(label.into()))
}

/// One attempt; `None` where its hours were dropped before they were copied.
async fn try_close(
    store: &Store,
    config: &Loaded,
    period: &Period,
    mut bill: Bill,
    hours: &[HourRevision],
    waivers: Vec<Waiver>,
    author: &str,
) -> Result<Option<Closing>, PeriodsError> {
    let (reader, writer, label) = (store.reader(), store.writer(), period.label());
    let now_ms = crate::clock::now_ms();
    let attempt = crate::jobs::close::next_revision(0, now_ms);
    writer.copy_closed(label, attempt, period.window(), hours).await?;
    let copied = reader.closed_capacity(label, attempt).await?;
    if copied != bill.fleet.capacity {
        writer.drop_attempt(label, attempt).await?;
        return Ok(None);
    }
    let pins: Vec<HourPin> =
        hours.iter().map(|h| HourPin { hour_s: h.hour_s, revision: h.hour_revision }).collect();
    let postings = reader.postings(&[label.to_owned()]).await?;
    let contents: Vec<&str> = postings.iter().map(|p| p.content.as_str()).collect();
    let inputs = Inputs {
        period: label.into(),
        zone: config.zone.name().into(),
        currency: config.currency.code().into(),
        hours_sha256: HourPin::hash_of_all(&pins),
        rows_checksum: reader.closed_checksum(label, attempt).await?,
        prices: bill.platform.context.prices.clone(),
        mapping: bill.platform.context.mapping.clone(),
        method: METHOD.into(),
        software: SOFTWARE.into(),
        postings_sha256: billing::place::hash_of(&contents.join("\n")),
        waivers,
    };
    bill.mark(Status::Final, Some(Closed { manifest: inputs.id(), waivers: inputs.waivers.clone() }));
    let (manifest, sealed) = seal(&bill, inputs);
    writer.keep_sealed(label, attempt, &sealed).await?;
    let row = ClosingRow {
        period: label.into(),
        attempt,
        manifest_id: manifest.inputs.id(),
        manifest: serde_json::to_string(&manifest).expect("texts and numbers serialise"),
        author: author.into(),
        closed_at_ms: now_ms,
    };
    writer.name_closing(&row).await?;
    let named = reader.closing(label).await?.ok_or_else(|| PeriodsError::Broken {
        period: label.into(),
        what: "the close that was just named isn't there".into(),
    })?;
    if named.attempt != attempt {
        writer.drop_attempt(label, attempt).await?;
    }
    Ok(Some(named))
}

/// The bill of a closed period as it was posted; `None` where it isn't closed.
///
/// # Errors
/// The stored documents aren't what the manifest pins.
pub async fn closed_bill(reader: &Reader, period: &Period) -> Result<Option<Bill>, PeriodsError> {
    let Some(closing) = reader.closing(period.label()).await? else { return Ok(None) };
    let manifest = manifest_of(period, &closing)?;
    let sealed = reader.sealed(period.label(), closing.attempt).await?;
    let opened = manifest.open(&sealed);
    opened.map(Some).map_err(|what| PeriodsError::Broken { period: period.label().into(), what })
}

fn manifest_of(period: &Period, closing: &Closing) -> Result<Manifest, PeriodsError> {
    serde_json::from_str(&closing.manifest).map_err(|error| PeriodsError::Broken {
        period: period.label().into(),
        what: format!("its manifest can't be read: {error}"),
    })
}

/// Everything that a manifest says, checked against what is stored: what isn't so, in words.
///
/// # Errors
/// The period isn't closed, or the store fails.
pub async fn verify(reader: &Reader, period: &Period) -> Result<(Manifest, Vec<String>), PeriodsError> {
    let label = period.label();
    let closing = reader.closing(label).await?.ok_or_else(|| PeriodsError::NotClosed(label.to_owned()))?;
    let manifest = manifest_of(period, &closing)?;
    let inputs = &manifest.inputs;
    let mut wrong = Vec::new();
    if inputs.id() != closing.manifest_id {
        wrong.push("the manifest isn't the one that statements name".to_owned());
    }
    let sealed = reader.sealed(label, closing.attempt).await?;
    if let Err(what) = manifest.open(&sealed) {
        wrong.push(format!("statement of {what}"));
    }
    if reader.closed_checksum(label, closing.attempt).await? != inputs.rows_checksum {
        wrong.push("rows of usage or devices differ from those that were closed".to_owned());
    }
    for (file, version) in [("prices.toml", &inputs.prices), ("tenants.toml", &inputs.mapping)] {
        match reader.config_content(file, &version.hash).await? {
            Some(content) if billing::place::hash_of(&content) == version.hash => {}
            Some(_) => wrong.push(format!("the kept {file} v{} isn't what was used", version.number)),
            None => wrong.push(format!("{file} v{} isn't kept any more", version.number)),
        }
    }
    let postings = reader.postings(&[label.to_owned()]).await?;
    let contents: Vec<&str> = postings.iter().map(|p| p.content.as_str()).collect();
    if billing::place::hash_of(&contents.join("\n")) != inputs.postings_sha256 {
        wrong.push("what was posted to the period isn't what was closed".to_owned());
    }
    Ok((manifest, wrong))
}

/// What a closed period would be now, against what was posted and corrected, with why it differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differences {
    /// Row by row.
    pub deltas: Vec<Delta>,
    /// In words: which of usage, prices and mapping changed.
    pub because: String,
}

/// Compares a closed period with what it would be now.
///
/// # Errors
/// The period isn't closed, can't be rated now, or the store fails.
pub async fn differences(
    store: &Store,
    config: &Loaded,
    period: &Period,
) -> Result<Differences, PeriodsError> {
    let (reader, label) = (store.reader(), period.label());
    let closing = reader.closing(label).await?.ok_or_else(|| PeriodsError::NotClosed(label.to_owned()))?;
    let manifest = manifest_of(period, &closing)?;
    let closed = closed_bill(&reader, period).await?.ok_or_else(|| PeriodsError::NotClosed(label.into()))?;
    settle(store, config, period.window()).await?;
    let now = report::live_bill(&reader, config, period).await?;
    let mut corrected = Vec::new();
    for posting in reader.corrections().await? {
        corrected.extend(content_of(&posting)?.correction.filter(|c| c.period == label));
    }
    let hours = reader.revisions(period.window()).await?;
    let pins: Vec<HourPin> =
        hours.iter().map(|h| HourPin { hour_s: h.hour_s, revision: h.hour_revision }).collect();
    let inputs = &manifest.inputs;
    let context = &now.platform.context;
    let mut because = Vec::new();
    if HourPin::hash_of_all(&pins) != inputs.hours_sha256 {
        because.push("late or corrected usage".to_owned());
    }
    if context.prices.hash != inputs.prices.hash {
        because.push(format!("prices v{}", context.prices.number));
    }
    if context.mapping.hash != inputs.mapping.hash {
        because.push(format!("mapping v{}", context.mapping.number));
    }
    if inputs.method != METHOD {
        because.push(format!("method {METHOD}"));
    }
    Ok(Differences { deltas: diff(&closed, &corrected, &now), because: because.join(", ") })
}

/// Posts what differs as corrections into an open period, and gives the rows. Where nothing differs nothing is posted, and
/// twice at once is once: a posting is named by what it corrects and by how much.
///
/// # Errors
/// See [`PeriodsError`].
pub async fn correct(
    store: &Store,
    config: &Loaded,
    period: &Period,
    into: &Period,
    reason: &str,
    author: &str,
) -> Result<Vec<Charge>, PeriodsError> {
    if !into.is_month() {
        return Err(PeriodsError::NotAMonth(into.label().into()));
    }
    if store.reader().closing(into.label()).await?.is_some() {
        return Err(PeriodsError::Closed(into.label().into()));
    }
    let found = differences(store, config, period).await?;
    if found.deltas.is_empty() {
        return Ok(Vec::new());
    }
    let correction = Correction { period: period.label().into(), deltas: found.deltas };
    let charges = corrections(&correction.deltas, reason, &config.currency);
    let named = serde_json::to_string(&correction).expect("texts and numbers serialise");
    let before = store.reader().corrections().await?.len();
    let posting_id = format!("correction-{before}-{}", &billing::place::hash_of(&named)[..16]);
    let posted = Posted { charges: charges.clone(), correction: Some(correction) };
    post(store, into, "correction", posting_id, reason, author, &posted).await?;
    Ok(charges)
}

/// Posts rows to an open month.
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
    if !into.is_month() {
        return Err(PeriodsError::NotAMonth(into.label().into()));
    }
    if store.reader().closing(into.label()).await?.is_some() {
        return Err(PeriodsError::Closed(into.label().into()));
    }
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
    let Some(closing) = reader.closing(period.label()).await? else { return Ok(config.clone()) };
    let inputs = manifest_of(period, &closing)?.inputs;
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
