//! The close itself: what stands in the way, and a copy of hours and statements under an attempt that is then named.

use super::{PeriodsError, hash_of_hours, hash_of_postings};
use crate::config::Loaded;
use crate::jobs::rate::dirty_days;
use crate::jobs::settle::settle;
use crate::report;
use crate::store::charges::{Days, HourRevision, RatedFrom};
use crate::store::closing::{Closing, ClosingRow, PostingRow};
use crate::store::{Reader, Store, StoreError};
use billing::closing::{Facts, Finding, Inputs, Item, Waiver, findings, seal};
use billing::period::Period;
use billing::rating::METHOD;
use billing::statement::{Bill, Closed, Status};
use schema::units::HOUR_MS;

/// How often a close starts again because hours were published meanwhile.
pub(super) const ATTEMPTS_MAX: u32 = 20;

/// Version and revision of the software, as a manifest names it.
const SOFTWARE: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLICEMETER_REVISION"), ")");

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
    bill_and_findings(&store.reader(), config, period).await
}

async fn bill_and_findings(
    reader: &Reader,
    config: &Loaded,
    period: &Period,
) -> Result<(Bill, Vec<Finding>), PeriodsError> {
    let bill = report::live_bill(reader, config, period).await?;
    let found = findings(&bill, &facts(reader, period).await?);
    Ok((bill, found))
}

/// What a bill is made of besides the configuration. A bill takes several queries; where this is the same before and after
/// them, they all saw the same.
#[derive(Debug, PartialEq, Eq)]
struct Sources {
    hours: Vec<HourRevision>,
    days: Vec<RatedFrom>,
    postings: Vec<PostingRow>,
}

impl Sources {
    async fn read(reader: &Reader, rules: &str, period: &Period) -> Result<Self, StoreError> {
        let (window, months) = (period.window(), [period.label().to_owned()]);
        let (hours, days, postings) = tokio::try_join!(
            reader.revisions(window),
            reader.rated_from(Days { rules, window }),
            reader.postings(&months)
        )?;
        Ok(Self { hours, days, postings })
    }
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
    let (reader, rules) = (store.reader(), config.rules_name());
    for _ in 0..ATTEMPTS_MAX {
        settle(store, config, period.window()).await?;
        let sources = Sources::read(&reader, &rules, period).await?;
        let made = bill_and_findings(&reader, config, period).await;
        let unsettled = dirty_days(&reader, &rules, config.zone, period.window()).await?;
        if !unsettled.is_empty() || Sources::read(&reader, &rules, period).await? != sources {
            // What was read meanwhile may be half old and half new, and not even add up.
            continue;
        }
        let (bill, found) = made?;
        let waiver = |finding: &Finding| {
            let reason = waived.iter().find(|(item, _)| *item == finding.item && item.can_be_waived())?;
            Some(Waiver { item: finding.item, finding: finding.what.clone(), reason: reason.1.clone() })
        };
        let waivers: Vec<Waiver> = found.iter().filter_map(waiver).collect();
        if waivers.len() < found.len() {
            let refused = found.into_iter().filter(|f| waiver(f).is_none()).collect();
            return Ok(Outcome::Refused(refused));
        }
        if let Some(closing) = try_close(store, config, period, bill, &sources, waivers, author).await? {
            return Ok(Outcome::Closed(Box::new(closing)));
        }
    }
    Err(PeriodsError::Busy(label.into()))
}

/// One attempt; `None` where its hours were dropped, or its days rated again, before they were copied.
async fn try_close(
    store: &Store,
    config: &Loaded,
    period: &Period,
    mut bill: Bill,
    sources: &Sources,
    waivers: Vec<Waiver>,
    author: &str,
) -> Result<Option<Closing>, PeriodsError> {
    let (reader, writer, label) = (store.reader(), store.writer(), period.label());
    let now_ms = crate::clock::now_ms();
    let attempt = crate::jobs::close::next_revision(0, now_ms);
    writer.copy_closed(label, attempt, period.window(), &sources.hours, &sources.days).await?;
    let (copied, fit) =
        tokio::try_join!(reader.closed_capacity(label, attempt), reader.closed_charges_fit(label, attempt))?;
    if copied != bill.fleet.capacity || !fit {
        writer.drop_attempt(label, attempt).await?;
        return Ok(None);
    }
    let inputs = Inputs {
        period: label.into(),
        zone: config.zone.name().into(),
        currency: config.currency.code().into(),
        hours_sha256: hash_of_hours(&sources.hours),
        rows_checksum: reader.closed_checksum(label, attempt).await?,
        prices: bill.platform.context.prices.clone(),
        mapping: bill.platform.context.mapping.clone(),
        method: METHOD.into(),
        software: SOFTWARE.into(),
        postings_sha256: hash_of_postings(&sources.postings),
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
