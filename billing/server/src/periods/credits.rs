//! Credits for lost work: what failed, who lost what by it at the prices of its time, and which of it was approved.

use super::{PeriodsError, Posted, archived, check_open, content_of, post};
use crate::config::Loaded;
use crate::jobs::settle::settle;
use crate::store::closing::PostingRow;
use crate::store::{Reader, Store};
use billing::period::Period;
use billing::post::credit::{Failure, Proposal, WorkHeld, cut, propose};
use billing::rating::{Owners, Sums};
use billing::usage::UsageTotal;
use billing::words;
use schema::id::WorkloadId;
use schema::units::HOUR_MS;
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// The kind that its postings have.
const KIND: &str = "lost-work";

/// A proposal, and where it was posted if it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The proposal; where it was posted, with what was posted.
    pub proposal: Proposal,
    /// Label of the month that it was posted to.
    pub posted: Option<String>,
}

/// What the rules of a month propose for its failures. Nothing is written.
///
/// # Errors
/// See [`PeriodsError`].
pub async fn proposed(
    store: &Store,
    config: &Loaded,
    period: &Period,
) -> Result<Vec<Proposed>, PeriodsError> {
    if !period.is_month() {
        return Err(PeriodsError::NotAMonth(period.label().into()));
    }
    settle(store, config, period.window()).await?;
    let reader = store.reader();
    let failures = reader.failures(period.window()).await?;
    let held = held_before(&reader, config, &failures).await?;
    let rules = archived(&reader, config, period).await?;
    let proposals = propose(rules.prices.policies(), &failures, &held, config.zone, &config.currency);
    let posted: BTreeMap<String, PostingRow> =
        reader.credits().await?.into_iter().map(|row| (row.posting_id.clone(), row)).collect();
    let with_state = |proposal: Proposal| -> Result<Proposed, PeriodsError> {
        let Some(row) = posted.get(&posting_id(&proposal)) else {
            return Ok(Proposed { proposal, posted: None });
        };
        let proposal = Proposal { charges: content_of(row)?.charges, ..proposal };
        Ok(Proposed { proposal, posted: Some(row.period.clone()) })
    };
    proposals.into_iter().map(with_state).collect()
}

/// Posts a proposal to an open month. The same proposal twice is one.
///
/// # Errors
/// The month is closed, or the store fails.
pub async fn approve(
    store: &Store,
    proposal: &Proposal,
    into: &Period,
    author: &str,
    reason: Option<&str>,
) -> Result<Posted, PeriodsError> {
    check_open(store, into).await?;
    let approved = match reason {
        Some(reason) => format!("approved by {author}: {reason}"),
        None => format!("approved by {author}"),
    };
    let mut charges = proposal.charges.clone();
    for charge in &mut charges {
        charge.what = format!("{} ({approved})", charge.what);
    }
    let posted = Posted { charges, correction: None };
    post(store, into, KIND, posting_id(proposal), &approved, author, &posted).await?;
    Ok(posted)
}

fn posting_id(proposal: &Proposal) -> String {
    format!("{KIND}-{}", proposal.id)
}

/// What the holders of failed devices had held up to a failure, as far back as any rule may credit, cut at the failures and
/// with the prices that it has: of a closed month those that it was closed with.
async fn held_before(
    reader: &Reader,
    config: &Loaded,
    failures: &[Failure],
) -> Result<Vec<WorkHeld>, PeriodsError> {
    let workloads: BTreeSet<WorkloadId> = failures.iter().flat_map(|f| f.holders.iter().copied()).collect();
    let (Some(first), Some(last)) = (failures.first(), failures.last()) else { return Ok(Vec::new()) };
    let back_ms = billing::policy::CREDIT_HOURS_MAX * HOUR_MS;
    let window = Window::new(first.at_ms - back_ms, Window::hour_of(last.at_ms).end_ms);
    let owners = reader.owners(window).await?;
    let mut months = Months { reader, config, known: BTreeMap::new() };
    let mut held = Vec::new();
    for row in reader.workload_hours(&workloads, window).await? {
        held.push(work_held(&row, &owners, months.of(row.segment.start_ms).await?));
    }
    for failure in failures {
        let hour = Window::new(Window::hour_of(failure.at_ms).start_ms, failure.at_ms);
        let devices: BTreeSet<String> = held
            .iter()
            .filter(|row| failure.holders.contains(&row.workload))
            .map(|row| row.device.clone())
            .collect();
        let slices = reader.slices(&failure.holders, &devices, hour).await?;
        held = cut(held, failure.at_ms, &slices);
    }
    Ok(held)
}

fn work_held(row: &UsageTotal, owners: &Owners, config: &Loaded) -> WorkHeld {
    let (resolved, key) = config.rules().line_among(row, owners);
    WorkHeld {
        segment: row.segment,
        device: row.device.clone(),
        workload: row.workload,
        job: words::workload(owners.get(&row.workload), row.workload),
        tenant: resolved.tenant,
        natural_ms: row.natural_ms,
        quantity: key.price.quantity(&Sums::of(row, key.basis)),
        unit_price: key.price.unit(),
    }
}

/// The configuration that each month goes by.
struct Months<'a> {
    reader: &'a Reader,
    config: &'a Loaded,
    /// By start of the month.
    known: BTreeMap<i64, Loaded>,
}

impl Months<'_> {
    async fn of(&mut self, at_ms: i64) -> Result<&Loaded, PeriodsError> {
        let before = self.known.range(..=at_ms).next_back().map(|(start_ms, _)| *start_ms);
        let month = Period::month_of(at_ms, self.config.zone).map_err(crate::report::ReportError::from)?;
        let start_ms = month.window().start_ms;
        if before != Some(start_ms) {
            let config = archived(self.reader, self.config, &month).await?;
            self.known.insert(start_ms, config);
        }
        Ok(&self.known[&start_ms])
    }
}
