//! After the close: what would be different now, posted as corrections into an open month.

use super::{Kept, PeriodsError, Posted, check_open, content_of, hash_of_hours, post};
use crate::config::Loaded;
use crate::jobs::settle::settle;
use crate::report;
use crate::store::Store;
use billing::charge::Charge;
use billing::closing::{Correction, Delta, corrections, diff};
use billing::period::Period;
use billing::rating::METHOD;

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
    let kept = Kept::of(&reader, period).await?;
    let closed = kept.bill(&reader, period).await?;
    settle(store, config, period.window()).await?;
    let now = report::live_bill(&reader, config, period).await?;
    let mut corrected = Vec::new();
    for posting in reader.corrections().await? {
        corrected.extend(content_of(&posting)?.correction.filter(|c| c.period == label));
    }
    let hours = reader.revisions(period.window()).await?;
    let inputs = &kept.manifest.inputs;
    let context = &now.platform.context;
    let mut because = Vec::new();
    if hash_of_hours(&hours) != inputs.hours_sha256 {
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
    // Before the work; posting checks it again.
    check_open(store, into).await?;
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
