//! What can be wrong with a price book, in words that name file, entry, key and remedy.

use crate::instant::InstantError;
use crate::money::MoneyError;
use crate::place::Place;

/// Why `prices.toml` can't be used. `what` is the entry as errors call it: `price "h100"`, `mig_factor 2`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// Not TOML, an unknown key, or a missing one.
    #[error("{place}: {message}: see prices.example.toml for every key")]
    Toml {
        /// Where.
        place: Place,
        /// The parser's words.
        message: String,
    },
    /// An entry that isn't a price.
    #[error(transparent)]
    Policy(#[from] crate::policy::PolicyError),
    /// A number that isn't a string.
    #[error(
        "{place}: {key} of {what} must be in quotes, such as \"3.50\": a bare number is read as a float and would not be exact"
    )]
    NotQuoted {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// The key.
        key: &'static str,
    },
    /// A price or currency isn't money.
    #[error("{place}: {key} of {what}")]
    Money {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// The key.
        key: &'static str,
        /// Why.
        #[source]
        source: MoneyError,
    },
    /// A time isn't usable.
    #[error("{place}: {key} of {what}")]
    Instant {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// `from` or `to`.
        key: &'static str,
        /// Why.
        #[source]
        source: InstantError,
    },
    /// Another value that can't be meant.
    #[error("{place}: {key} of {what} is {value}: {remedy}")]
    Value {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// The key.
        key: String,
        /// As written.
        value: String,
        /// What to write.
        remedy: String,
    },
    /// Keys that don't go together, or one that is missing beside others.
    #[error("{place}: {what} {problem}")]
    Keys {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Ends before it starts.
    #[error("{place}: {what} ends at or before its start: set `to` after `from`, or leave `to` out")]
    Backwards {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
    },
    /// Two entries of one id.
    #[error("{place}: the id {id:?} is used twice: give each entry an id of its own")]
    SameId {
        /// Where the second stands.
        place: Place,
        /// The id.
        id: String,
    },
    /// Two entries for the same at once.
    #[error(
        "{place}: {section} {first:?} and {second:?} of {scope} overlap: set `to` of {first:?} no later than `from` of {second:?}"
    )]
    Overlap {
        /// Where the second stands.
        place: Place,
        /// What they are, in the plural: `prices`.
        section: &'static str,
        /// The earlier entry.
        first: String,
        /// The later entry.
        second: String,
        /// What both are of: `model "H100"`.
        scope: String,
    },
    /// A hole between two entries for the same.
    #[error(
        "{place}: no {section} of {scope} holds between {first:?} and {second:?}: set `to` of {first:?} to the `from` of {second:?}, or leave it out"
    )]
    Gap {
        /// Where the second stands.
        place: Place,
        /// What they are, in the singular: `price`.
        section: &'static str,
        /// The earlier entry.
        first: String,
        /// The later entry.
        second: String,
        /// What both are of: `model "H100"`.
        scope: String,
    },
    /// Something in another file that isn't there.
    #[error("{place}: {what} names {named}, which {problem}")]
    Unknown {
        /// Where.
        place: Place,
        /// The entry.
        what: String,
        /// What it names: `tenant "vision"`.
        named: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
}
