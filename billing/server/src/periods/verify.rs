//! A closed month against its manifest: everything that it names, as it is stored now.

use super::{Kept, PeriodsError, hash_of_postings};
use crate::store::Reader;
use billing::closing::Manifest;
use billing::period::Period;

/// The most postings that a close can have overtaken: people post one by one.
const OVERTAKEN_MAX: usize = 16;

/// Everything that a manifest says, checked against what is stored: what isn't so, in words.
///
/// # Errors
/// The period isn't closed, or the store fails.
pub async fn verify(reader: &Reader, period: &Period) -> Result<(Manifest, Vec<String>), PeriodsError> {
    let label = period.label();
    let Kept { closing, manifest } = Kept::of(reader, period).await?;
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
        wrong.push("rows of usage, devices or charges differ from those that were closed".to_owned());
    }
    for (file, version) in [("prices.toml", &inputs.prices), ("tenants.toml", &inputs.mapping)] {
        match reader.config_content(file, &version.hash).await? {
            Some(content) if billing::place::hash_of(&content) == version.hash => {}
            Some(_) => wrong.push(format!("the kept {file} v{} isn't what was used", version.number)),
            None => wrong.push(format!("{file} v{} isn't kept any more", version.number)),
        }
    }
    let postings = reader.postings(&[label.to_owned()]).await?;
    // What was posted at the very moment of the close comes after what was closed, and `period diff` lists it.
    let shortest = postings.len().saturating_sub(OVERTAKEN_MAX);
    let pinned = |count: usize| hash_of_postings(&postings[..count]) == inputs.postings_sha256;
    if !(shortest..=postings.len()).rev().any(pinned) {
        wrong.push("what was posted to the period isn't what was closed".to_owned());
    }
    Ok((manifest, wrong))
}
