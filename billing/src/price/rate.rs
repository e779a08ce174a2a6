//! What the price book is asked, and what it answers.

use super::Unpriced;
use crate::charge::Unit;
use crate::money::UnitPrice;
use crate::tenant::{Site, TenantId};
use schema::owner::Owner;
use schema::share::Share;
use serde::{Deserialize, Serialize};

/// What a price is wanted for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// NVML product name.
    pub model: &'a str,
    /// MIG profile, or empty.
    pub profile: &'a str,
    /// Share of the device that is held: what a price per instance or a factor per profile is turned by.
    pub share: Share,
    /// The tenant and the tree nodes above it, nearest first.
    pub path: &'a [TenantId],
    /// Whose it is, for the classes that a scheduler gave it; `None` where no owner is known.
    pub owner: Option<&'a Owner>,
    /// Where it ran, for node pools.
    pub site: Site<'a>,
    /// When, Unix milliseconds.
    pub at_ms: i64,
}

/// The book's answer where there is a price.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// Since when it holds, Unix milliseconds: an older price comes first on a statement.
    pub from_ms: i64,
    /// Id of the entry.
    pub entry: String,
    /// What is multiplied by it.
    pub unit: Unit,
    /// What anybody pays, in the service's currency; `price` where there is no list price.
    pub list: UnitPrice,
    /// What this tenant pays: `list` with its discount, or its own price.
    pub price: UnitPrice,
    /// Place in the entry's tiers from 0; the price is that of the tier.
    pub tier: u32,
}

/// A price, or why there is none.
pub type Answer = Result<Rate, Unpriced>;
