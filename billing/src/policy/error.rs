//! What can be wrong with an entry that isn't a price, in words that name file, entry, key and remedy.

use crate::instant::InstantError;
use crate::money::MoneyError;
use crate::place::Place;
use crate::tenant::{BadTenantId, TenantId};

/// An entry of `prices.toml`: `reservation "h100-vision"`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryName {
    /// Its section, without brackets.
    pub section: &'static str,
    /// Its id.
    pub id: String,
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.section, self.id)
    }
}

/// Why an entry can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// An empty text.
    #[error("{place}: {key} of {entry} is empty: give it a text")]
    Empty {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
    },
    /// Two entries of one id.
    #[error("{place}: the id {id:?} is used twice: give each entry an id of its own, because charges refer to it", id = entry.id)]
    SameId {
        /// Where the second stands.
        place: Place,
        /// The second.
        entry: EntryName,
    },
    /// A number that isn't a string.
    #[error(
        "{place}: {key} of {entry} must be in quotes, such as \"3.50\": a bare number is read as a float and would not be exact"
    )]
    NotQuoted {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: String,
    },
    /// Not a decimal number.
    #[error("{place}: {key} of {entry}")]
    Money {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: MoneyError,
    },
    /// A time isn't usable.
    #[error("{place}: {key} of {entry}")]
    Instant {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// `from` or `to`.
        key: &'static str,
        /// Why.
        #[source]
        source: InstantError,
    },
    /// Ends before it starts.
    #[error("{place}: {entry} ends at or before its start: set `to` after `from`, or leave `to` out")]
    Backwards {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
    },
    /// Not a tenant's id.
    #[error("{place}: {key} of {entry}")]
    Tenant {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// Why.
        #[source]
        source: BadTenantId,
    },
    /// A reserved name where a tenant must stand.
    #[error("{place}: {key} of {entry} is {id}, which is no tenant: name a tenant")]
    Reserved {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// The name.
        id: TenantId,
    },
    /// A tenant that `tenants.toml` doesn't declare.
    #[error(
        "{place}: {key} of {entry} is {id}, which tenants.toml doesn't declare: add a [[tenant]] with that id, or correct the name"
    )]
    UndeclaredTenant {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// The name.
        id: TenantId,
    },
    /// A pool that `tenants.toml` doesn't declare.
    #[error(
        "{place}: {key} of {entry} is {pool:?}, which tenants.toml doesn't declare: add a [[pool]] with that name, or correct the name"
    )]
    UndeclaredPool {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// The name.
        pool: String,
    },
    /// A number out of its range.
    #[error("{place}: {key} of {entry} is {value}: write a whole number from 1 to {max}")]
    Number {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// As written.
        value: i64,
        /// The greatest that is taken.
        max: i64,
    },
    /// A word that isn't one of a few.
    #[error("{place}: {key} of {entry} is {value:?}: write {words}")]
    Word {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// Those that it may be.
        words: String,
    },
    /// Keys that don't go together, or one that is missing.
    #[error("{place}: {entry} {problem}")]
    Keys {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// What is wrong, and the remedy.
        problem: &'static str,
    },
    /// Shares that aren't a whole.
    #[error("{place}: the shares in {key} of {entry} sum to {sum}: make them sum to 1 or to 100")]
    Shares {
        /// Where.
        place: Place,
        /// The entry.
        entry: EntryName,
        /// The key.
        key: &'static str,
        /// Their sum.
        sum: crate::money::UnitPrice,
    },
    /// Two entries for one thing at once.
    #[error(
        "{place}: {first} and {second} both hold for {thing} at {at}: set `to` of one no later than `from` of the other, or remove one"
    )]
    SameTime {
        /// Where the second stands.
        place: Place,
        /// The earlier in the file.
        first: EntryName,
        /// The later.
        second: EntryName,
        /// What both are about.
        thing: String,
        /// The first local instant at which both hold.
        at: String,
    },
}
