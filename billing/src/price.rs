//! The price book: what an hour of a device, an instance or memory costs whom, and from when to when.
//!
//! At any instant the most exact entry that holds is the price; where none holds, the row is unpriced: it keeps its
//! quantity and has no amount. An entry of a tenant is its contracted price; all others are list prices, which discounts
//! come off. What else a price is made of (service units, exchange rates, MIG factors) and what is charged for it
//! (the basis) has its time in which it holds, too.

use crate::money::Currency;
use crate::policy::Policies;
use crate::tenant::{Pool, TenantId};
use chrono_tz::Tz;
use schema::window::Window;
use schema::wire::Sharing;

mod basis;
mod bind;
mod choose;
mod discount;
mod energy;
mod entry;
mod error;
mod exchange;
mod factor;
mod file;
mod profile;
mod purchase;
mod rate;
mod rewrite;
mod selector;
mod span;
mod tiers;
mod unit;
mod versions;
pub use basis::{BLEND_WHOLE_E6, Basis, BasisRule, NotMeasured, gib_hours_nano};
pub use discount::Discount;
pub use energy::Energy;
pub use entry::{Measure, Per, PriceEntry};
pub use error::PriceError;
pub use exchange::{ExchangeRate, MissingRate};
pub use factor::{MigFactor, Preset};
pub use purchase::{HOURS_PER_MONTH, Purchase};
pub use rate::{Answer, Asked, Rate};
pub use rewrite::Reason;
pub use selector::Selectors;
pub use span::Span;
pub use tiers::{Piece, Tier, TierMode, Tiers};
pub use unit::ServiceUnit;
pub use versions::{Change, Jump, Matched};

/// Prices of one version of `prices.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceBook {
    terms: Terms,
    policies: Policies,
    bound: Option<Bound>,
    hash: String,
}

/// What the sections of the file say, each in the order of scope and time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Terms {
    entries: Vec<PriceEntry>,
    discounts: Vec<Discount>,
    mig_factors: Vec<MigFactor>,
    service_units: Vec<ServiceUnit>,
    energies: Vec<Energy>,
    exchange_rates: Vec<ExchangeRate>,
    bases: Vec<BasisRule>,
    /// Why the past was rewritten.
    reasons: Vec<Reason>,
    /// What the entries name of other files.
    mentions: Vec<bind::Mention>,
}

/// What the book needs of other files to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    /// Currency of every answer.
    service: Currency,
    /// Pools of `tenants.toml`.
    pools: Vec<Pool>,
}

/// Why there is no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Unpriced {
    /// No entry names the model at all.
    UnknownModel,
    /// Entries name it, but none holds at that instant.
    NotAtThisTime,
    /// Entries hold then, but only for other tenants, classes, pools or profiles.
    NotForThis,
    /// The price is in another currency, and no exchange rate holds at that instant.
    NoExchangeRate,
}

impl PriceBook {
    /// A book without prices: everything is unpriced.
    pub fn empty() -> Self {
        Self {
            terms: Terms::default(),
            policies: Policies::default(),
            bound: None,
            hash: crate::place::hash_of(""),
        }
    }

    /// Reads `prices.toml`; `file` is its name in errors, `zone` the billing zone that local dates are in. Prices in other
    /// currencies and those of pools answer only after [`PriceBook::bind`].
    ///
    /// # Errors
    /// The first thing wrong, with file, line, entry, key and remedy.
    pub fn parse(file: &str, text: &str, zone: Tz) -> Result<Self, PriceError> {
        let (terms, policies) = file::read(file, text, zone)?;
        Ok(Self { terms, policies, bound: None, hash: crate::place::hash_of(text) })
    }

    /// The prices, by model and time.
    pub fn entries(&self) -> &[PriceEntry] {
        &self.terms.entries
    }

    /// The price of that id.
    pub fn entry(&self, id: &str) -> Option<&PriceEntry> {
        self.terms.entries.iter().find(|e| e.id == id)
    }

    /// The tiers of a price as they are written; [`PriceBook::derivation`] says what one costs a tenant.
    pub fn tiers(&self, entry: &str) -> Option<&Tiers> {
        Some(&self.entry(entry)?.tiers)
    }

    /// What the file says besides prices.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// SHA-256 of the file, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// What of a row is charged: held unless a `[[basis]]` says otherwise. `path` is the tenant and the tree nodes above
    /// it, nearest first.
    pub fn basis(&self, sharing: Sharing, path: &[TenantId], at_ms: i64) -> Basis {
        basis::of(&self.terms.bases, sharing, path, at_ms)
    }

    /// What energy costs in a cluster and what it emits; `None` where nothing is said.
    pub fn energy(&self, cluster: &str, at_ms: i64) -> Option<&Energy> {
        energy::of(&self.terms.energies, cluster, at_ms)
    }

    /// Whether energy has a price anywhere.
    pub fn charges_energy(&self) -> bool {
        self.terms.energies.iter().any(|energy| energy.per_kwh.is_some())
    }

    /// The exchange rate at an instant.
    ///
    /// # Errors
    /// None holds; the error says what to add.
    pub fn exchange(&self, from: &Currency, to: &Currency, at_ms: i64) -> Result<&ExchangeRate, MissingRate> {
        exchange::at(&self.terms.exchange_rates, from, to, at_ms)
    }

    /// The one exchange rate that holds over a whole window, such as a period's.
    ///
    /// # Errors
    /// None does; the error says what to add.
    pub fn exchange_over(
        &self,
        from: &Currency,
        to: &Currency,
        window: Window,
    ) -> Result<&ExchangeRate, MissingRate> {
        exchange::over(&self.terms.exchange_rates, from, to, window)
    }

    /// Every instant strictly inside the window at which anything of the book starts or ends, ascending: hours are cut
    /// there.
    pub fn change_instants(&self, window: Window) -> Vec<i64> {
        let edges = self.terms.spans().flat_map(|span| span.edges());
        window.inside(edges.chain(self.policies.change_instants(window)))
    }
}

impl Terms {
    fn spans(&self) -> impl Iterator<Item = Span> {
        let money = self.entries.iter().map(|e| e.span).chain(self.discounts.iter().map(|d| d.span));
        let turns = self.mig_factors.iter().map(|f| f.span).chain(self.service_units.iter().map(|u| u.span));
        let rates = self.exchange_rates.iter().map(|r| r.span).chain(self.energies.iter().map(|e| e.span));
        money.chain(turns).chain(rates).chain(self.bases.iter().map(|b| b.span))
    }
}

#[cfg(test)]
mod tests;
