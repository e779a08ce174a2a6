//! What can be wrong with a price book, in words that name file, key and remedy.

use crate::instant::InstantError;
use crate::money::MoneyError;
use crate::place::Place;

/// Why `prices.toml` can't be used.
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
    /// The price isn't a string.
    #[error(
        "{place}: per_gpu_hour of price {id:?} must be in quotes, such as \"3.50\": a bare number is read as a float and would not be exact"
    )]
    NotQuoted {
        /// Where.
        place: Place,
        /// The entry.
        id: String,
    },
    /// The price isn't money.
    #[error("{place}: per_gpu_hour of price {id:?}")]
    Money {
        /// Where.
        place: Place,
        /// The entry.
        id: String,
        /// Why.
        #[source]
        source: MoneyError,
    },
    /// A time isn't usable.
    #[error("{place}: {key} of price {id:?}")]
    Instant {
        /// Where.
        place: Place,
        /// The entry.
        id: String,
        /// `from` or `to`.
        key: &'static str,
        /// Why.
        #[source]
        source: InstantError,
    },
    /// An empty id or model.
    #[error("{place}: {key} of price {id:?} is empty: give it a text")]
    Empty {
        /// Where.
        place: Place,
        /// The entry.
        id: String,
        /// `id` or `model`.
        key: &'static str,
    },
    /// Ends before it starts.
    #[error("{place}: price {id:?} ends at or before its start: set `to` after `from`, or leave `to` out")]
    Backwards {
        /// Where.
        place: Place,
        /// The entry.
        id: String,
    },
    /// Two entries of one id.
    #[error("{place}: the id {id:?} is used twice: give each price an id of its own")]
    SameId {
        /// Where the second stands.
        place: Place,
        /// The id.
        id: String,
    },
    /// Two prices of a model at once.
    #[error(
        "{place}: prices {first:?} and {second:?} of model {model:?} overlap: set `to` of {first:?} no later than `from` of {second:?}"
    )]
    Overlap {
        /// Where the second stands.
        place: Place,
        /// The earlier entry.
        first: String,
        /// The later entry.
        second: String,
        /// The model they name.
        model: String,
    },
    /// A hole between two prices of a model.
    #[error(
        "{place}: no price of model {model:?} holds between {first:?} and {second:?}: set `to` of {first:?} to the `from` of {second:?}, or leave it out"
    )]
    Gap {
        /// Where the second stands.
        place: Place,
        /// The earlier entry.
        first: String,
        /// The later entry.
        second: String,
        /// The model they name.
        model: String,
    },
}
