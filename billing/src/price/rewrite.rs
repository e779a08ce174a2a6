//! History that a version of the price book rewrites: each such change is written down with its reason, or the version
//! isn't taken.

use super::{Change, PriceBook};
use crate::glob;
use crate::instant::local;
use chrono_tz::Tz;
use schema::window::Window;

/// A `[[change]]`: why an entry says something else of the past than it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The entry that was changed or removed: its id, or its section and place.
    pub entry: String,
    /// Why, in words for whoever opens a line.
    pub reason: String,
}

impl PriceBook {
    /// What this version says differently from the old one of time that was metered, without a reason that the old one
    /// hasn't given already. What had no price, rate or unit before may have one at any time.
    pub fn unexplained(&self, old: &PriceBook, metered: Window) -> Vec<Change> {
        let reasons: Vec<&Reason> =
            self.terms.reasons.iter().filter(|reason| !old.terms.reasons.contains(reason)).collect();
        let explained = |change: &Change| reasons.iter().any(|reason| change.entries.contains(&reason.entry));
        self.changes(old, metered.end_ms)
            .into_iter()
            .filter(|change| change.to_ms > metered.start_ms)
            .filter(|change| self.supersedes(old, change) && !explained(change))
            .collect()
    }

    /// Why an entry says something else of the past than it did once, in the order of the file.
    pub fn reasons<'a>(&'a self, entry: &'a str) -> impl Iterator<Item = &'a str> {
        self.terms.reasons.iter().filter(move |reason| reason.entry == entry).map(|r| r.reason.as_str())
    }

    /// Whether anything that was charged by the old version can be charged otherwise by a change.
    fn supersedes(&self, old: &PriceBook, change: &Change) -> bool {
        if change.before.is_some() {
            return true;
        }
        let added = change.entries.first().and_then(|id| self.entry(id));
        match (change.section, added) {
            // Without them there was no price.
            ("exchange_rate" | "service_unit", _) => false,
            // A price of its own beside one that was the answer before.
            ("price", Some(added)) => old.entries().iter().any(|entry| {
                let meets = entry.span.from_ms < change.to_ms
                    && entry.span.to_ms.is_none_or(|to_ms| change.from_ms < to_ms);
                let alike = entry.per.measure() == added.per.measure();
                meets && alike && glob::may_meet(&entry.model, &added.model)
            }),
            _ => true,
        }
    }
}

impl Change {
    /// What changes, when, and what to do about it.
    pub fn describe(&self, zone: Tz) -> String {
        let date = |at_ms| local(at_ms, zone).format("%Y-%m-%d %H:%M").to_string();
        let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        format!(
            "{}: from {} to {} it was {} and would be {}, and that time is metered: take it back, or say why in a [[change]] with entry = {:?} and reason = \"...\"",
            self.what,
            date(self.from_ms),
            date(self.to_ms),
            told(&self.before),
            told(&self.after),
            self.entries.first().map_or("", String::as_str),
        )
    }
}
