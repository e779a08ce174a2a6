//! The price book: what a GPU-hour of a model costs, and from when to when.
//!
//! An entry names a model as NVML does, exactly or with a `*`. At any instant the most exact entry that holds is the
//! price; where none holds the model is unpriced, and its line keeps its quantity and has no amount. A MIG instance
//! or slot pays its share of the device's price.

use crate::glob;
use crate::money::UnitPrice;
use crate::policy::Policies;
use chrono_tz::Tz;
use schema::window::Window;

mod error;
mod file;
mod rate;
pub use error::PriceError;
pub use rate::{Answer, Asked, Rate};

/// Prices of one version of `prices.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceBook {
    entries: Vec<PriceEntry>,
    policies: Policies,
    hash: String,
}

/// One price, with the time in which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceEntry {
    /// Unique name of the entry; lines and errors point to it.
    pub id: String,
    /// NVML product name, exact or with `*`.
    pub model: String,
    /// Price of a whole device for an hour.
    pub per_gpu_hour: UnitPrice,
    /// First instant at which it holds, Unix milliseconds.
    pub from_ms: i64,
    /// First instant at which it no longer holds; `None` for ever.
    pub to_ms: Option<i64>,
}

/// What the book says about a model at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// The entry that holds.
    Priced(&'a PriceEntry),
    /// No entry holds.
    Unpriced(Unpriced),
}

/// Why a model has no price at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Unpriced {
    /// No entry names the model at all.
    UnknownModel,
    /// Entries name it, but none holds at that instant.
    NotAtThisTime,
}

impl PriceEntry {
    /// Whether the price holds at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.from_ms <= at_ms && self.to_ms.is_none_or(|to_ms| at_ms < to_ms)
    }

    /// More exact patterns win: a name without `*`, then the longer pattern, then the earlier in the alphabet.
    fn exactness(&self) -> (bool, usize, std::cmp::Reverse<&str>) {
        (!self.model.contains('*'), self.model.len(), std::cmp::Reverse(&self.model))
    }
}

impl PriceBook {
    /// A book without prices: everything is unpriced.
    pub fn empty() -> Self {
        Self { entries: Vec::new(), policies: Policies::default(), hash: crate::place::hash_of("") }
    }

    /// Reads `prices.toml`; `file` is its name in errors, `zone` the billing zone that local dates are in.
    ///
    /// # Errors
    /// The first thing wrong, with file, line, key and remedy.
    pub fn parse(file: &str, text: &str, zone: Tz) -> Result<Self, PriceError> {
        let (entries, policies) = file::read(file, text, zone)?;
        Ok(Self { entries, policies, hash: crate::place::hash_of(text) })
    }

    /// The entries, by model and time.
    pub fn entries(&self) -> &[PriceEntry] {
        &self.entries
    }

    /// The entry of that id.
    pub fn entry(&self, id: &str) -> Option<&PriceEntry> {
        self.entries.iter().find(|e| e.id == id)
    }

    /// What the file says besides prices.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// SHA-256 of the file, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The price of a model at an instant.
    pub fn lookup(&self, model: &str, at_ms: i64) -> Lookup<'_> {
        let mut named = self.entries.iter().filter(|e| glob::fits(&e.model, model)).peekable();
        if named.peek().is_none() {
            return Lookup::Unpriced(Unpriced::UnknownModel);
        }
        match named.filter(|e| e.holds_at(at_ms)).max_by_key(|e| e.exactness()) {
            Some(entry) => Lookup::Priced(entry),
            None => Lookup::Unpriced(Unpriced::NotAtThisTime),
        }
    }

    /// Every instant strictly inside the window at which some price or policy starts or ends, ascending: hours are cut
    /// there.
    pub fn change_instants(&self, window: Window) -> Vec<i64> {
        let edges = self.entries.iter().flat_map(|e| [Some(e.from_ms), e.to_ms]).flatten();
        let mut inside: Vec<i64> = edges.filter(|at| window.start_ms < *at && *at < window.end_ms).collect();
        inside.extend(self.policies.change_instants(window));
        inside.sort_unstable();
        inside.dedup();
        inside
    }
}

#[cfg(test)]
mod tests;
