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

/// Where an entry stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// File and line.
    pub place: Place,
    /// The entry.
    pub entry: EntryName,
}

/// Why an entry can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// An empty text.
    #[error("{place}: {key} of {entry} is empty: give it a text", place = at.place, entry = at.entry)]
    Empty {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
    },
    /// Two entries of one id.
    #[error("{place}: the id {id:?} is used twice: give each entry an id of its own, because charges refer to it", place = at.place, id = at.entry.id)]
    SameId {
        /// The second, and where it stands.
        at: Box<Spot>,
    },
    /// A number that isn't a string.
    #[error("{place}: {key} of {entry} must be in quotes, such as \"3.50\": a bare number is read as a float and would not be exact", place = at.place, entry = at.entry)]
    NotQuoted {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: String,
    },
    /// Not a decimal number.
    #[error("{place}: {key} of {entry}", place = at.place, entry = at.entry)]
    Money {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: MoneyError,
    },
    /// A time isn't usable.
    #[error("{place}: {key} of {entry}", place = at.place, entry = at.entry)]
    Instant {
        /// Which entry, and where.
        at: Box<Spot>,
        /// `from` or `to`.
        key: &'static str,
        /// Why.
        #[source]
        source: InstantError,
    },
    /// Ends before it starts.
    #[error("{place}: {entry} ends at or before its start: set `to` after `from`, or leave `to` out", place = at.place, entry = at.entry)]
    Backwards {
        /// Which entry, and where.
        at: Box<Spot>,
    },
    /// Not a tenant's id.
    #[error("{place}: {key} of {entry}", place = at.place, entry = at.entry)]
    Tenant {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// Why.
        #[source]
        source: BadTenantId,
    },
    /// A reserved name where a tenant must stand.
    #[error("{place}: {key} of {entry} is {id}, which is no tenant: name a tenant", place = at.place, entry = at.entry)]
    Reserved {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// The name.
        id: TenantId,
    },
    /// A tenant that `tenants.toml` doesn't declare.
    #[error("{place}: {key} of {entry} is {id}, which tenants.toml doesn't declare: add a [[tenant]] with that id, or correct the name", place = at.place, entry = at.entry)]
    UndeclaredTenant {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// The name.
        id: TenantId,
    },
    /// A pool that `tenants.toml` doesn't declare.
    #[error("{place}: {key} of {entry} is {pool:?}, which tenants.toml doesn't declare: add a [[pool]] with that name, or correct the name", place = at.place, entry = at.entry)]
    UndeclaredPool {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// The name.
        pool: String,
    },
    /// A number out of its range.
    #[error("{place}: {key} of {entry} is {value}: write a whole number from 1 to {max}", place = at.place, entry = at.entry)]
    Number {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// As written.
        value: i64,
        /// The greatest that is taken.
        max: i64,
    },
    /// A word that isn't one of a few.
    #[error("{place}: {key} of {entry} is {value:?}: write {words}", place = at.place, entry = at.entry)]
    Word {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// Those that it may be.
        words: String,
    },
    /// Keys that don't go together, or one that is missing.
    #[error("{place}: {entry} {problem}", place = at.place, entry = at.entry)]
    Keys {
        /// Which entry, and where.
        at: Box<Spot>,
        /// What is wrong, and the remedy.
        problem: &'static str,
    },
    /// Shares that aren't a whole.
    #[error("{place}: the shares in {key} of {entry} sum to {sum}: make them sum to 1 or to 100", place = at.place, entry = at.entry)]
    Shares {
        /// Which entry, and where.
        at: Box<Spot>,
        /// The key.
        key: &'static str,
        /// Their sum.
        sum: crate::money::UnitPrice,
    },
    /// Two entries for one thing at once.
    #[error("{place}: {first} and {second} both hold for {thing} at {since}: set `to` of one no later than `from` of the other, or remove one", place = at.place, second = at.entry)]
    SameTime {
        /// The later in the file, and where it stands.
        at: Box<Spot>,
        /// The earlier.
        first: EntryName,
        /// What both are about.
        thing: String,
        /// The first local instant at which both hold.
        since: String,
    },
}
