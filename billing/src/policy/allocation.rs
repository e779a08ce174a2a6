//! `[[allocation]]` and `[[pool_owner]]`: who takes the cost of what nobody held, of a shared tenant, and of overheads.

use super::entry::{Entry, Row};
use super::{PolicyError, Scope};
use crate::money::UnitPrice;
use crate::price::Span;
use crate::tenant::TenantId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Value;

/// A cost that can be shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostKind {
    /// Device time that nobody held.
    Free,
    /// Device time that no MIG instance covers.
    Stranded,
    /// Device time lost to failure, maintenance or reconfiguration.
    Unavailable,
    /// Device time that no witness saw.
    Unobserved,
    /// Usage of a tenant that works for all.
    Shared,
    /// What the platform costs besides GPUs.
    Overhead,
}

/// Who takes a cost from an instant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationPolicy {
    /// Unique name of the entry.
    pub id: String,
    /// Which cost.
    pub cost: CostKind,
    /// Whose usage, where the cost is [`CostKind::Shared`].
    pub shared: Option<TenantId>,
    /// Of which devices.
    pub scope: Scope,
    /// Who takes it.
    pub taker: Taker,
    /// When.
    pub valid: Span,
}

/// Who takes a cost, and in which proportion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taker {
    /// Nobody: it stays where it is.
    Platform,
    /// The owner of the pool that the device is in.
    Owner,
    /// Every tenant with a statement, equally.
    Even,
    /// By device time held in the policy's scope and time.
    Usage,
    /// By the cost of usage in the policy's scope and time.
    Cost,
    /// By reserved time that was charged, in the policy's scope and time.
    Reserved,
    /// In fixed shares.
    Fixed(Vec<SharePart>),
}

/// A tenant's fixed share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePart {
    /// Whose.
    pub tenant: TenantId,
    /// Its weight; all together are the whole.
    pub weight: UnitPrice,
}

/// Who owns a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOwner {
    /// A `[[pool]]` of `tenants.toml`.
    pub pool: String,
    /// Its owner.
    pub tenant: TenantId,
    /// When.
    pub valid: Span,
}

/// An `[[allocation]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllocationRow {
    id: String,
    cost: String,
    tenant: Option<String>,
    pool: Option<String>,
    model: Option<String>,
    by: Value,
    from: Value,
    to: Option<Value>,
}

/// A `[[pool_owner]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolOwnerRow {
    pool: String,
    tenant: String,
    from: Value,
    to: Option<Value>,
}

const COSTS: [(&str, CostKind); 6] = [
    ("free", CostKind::Free),
    ("stranded", CostKind::Stranded),
    ("unavailable", CostKind::Unavailable),
    ("unobserved", CostKind::Unobserved),
    ("shared", CostKind::Shared),
    ("overhead", CostKind::Overhead),
];

/// The takers that are one word.
#[derive(Clone, Copy)]
enum Plain {
    Platform,
    Owner,
    Even,
    Usage,
    Cost,
    Reserved,
}

const TAKERS: [(&str, Plain); 6] = [
    ("platform", Plain::Platform),
    ("owner", Plain::Owner),
    ("even", Plain::Even),
    ("usage", Plain::Usage),
    ("cost", Plain::Cost),
    ("reserved", Plain::Reserved),
];

impl CostKind {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        COSTS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

impl Taker {
    /// The method's name in exports; its page is in docs/methods/.
    pub fn method_id(&self) -> &'static str {
        match self {
            Taker::Platform => "allocation-platform-v1",
            Taker::Owner => "allocation-owner-v1",
            Taker::Even => "allocation-even-v1",
            Taker::Usage => "allocation-usage-v1",
            Taker::Cost => "allocation-cost-v1",
            Taker::Reserved => "allocation-reserved-v1",
            Taker::Fixed(_) => "allocation-fixed-v1",
        }
    }

    /// How it is shared out, for people: `by usage`.
    pub fn method(&self) -> &'static str {
        match self {
            Taker::Platform => "kept by the platform",
            Taker::Owner => "to the owner of the pool",
            Taker::Even => "evenly",
            Taker::Usage => "by usage",
            Taker::Cost => "by cost",
            Taker::Reserved => "by reserved time",
            Taker::Fixed(_) => "by fixed shares",
        }
    }
}

impl Row for AllocationRow {
    const SECTION: &'static str = "allocation";
    type Read = AllocationPolicy;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<AllocationPolicy, PolicyError> {
        let cost = entry.word("cost", &self.cost, &COSTS, "")?;
        let shared = match (cost, self.tenant) {
            (CostKind::Shared, Some(name)) => Some(entry.tenant("tenant", &name)?),
            (CostKind::Shared, None) => {
                return Err(entry.keys("shares out a tenant's usage: name it with tenant = \"...\""));
            }
            (_, Some(_)) => {
                return Err(entry.keys("names a tenant, which only cost = \"shared\" has: remove tenant"));
            }
            (_, None) => None,
        };
        let scope = entry.scope(self.pool, self.model)?;
        let taker = read_taker(entry, self.by)?;
        if cost == CostKind::Overhead && !scope.is_all() {
            return Err(entry.keys("limits an overhead to a pool or model, but an overhead is of no device: remove pool and model"));
        }
        if cost == CostKind::Overhead && taker == Taker::Owner {
            return Err(entry.keys("gives an overhead to the owner of a pool, but an overhead is in no pool: choose another `by`"));
        }
        let valid = entry.valid(&self.from, self.to.as_ref())?;
        Ok(AllocationPolicy { id: self.id, cost, shared, scope, taker, valid })
    }
}

fn read_taker(entry: &mut Entry<'_>, by: Value) -> Result<Taker, PolicyError> {
    const MORE: &str = ", or a table of shares such as { vision = \"0.6\", speech = \"0.4\" }";
    let word = match by {
        Value::String(word) => word,
        Value::Table(shares) => return read_shares(entry, &shares.into_iter().collect()),
        other => other.to_string(),
    };
    Ok(match entry.word("by", &word, &TAKERS, MORE)? {
        Plain::Platform => Taker::Platform,
        Plain::Owner => Taker::Owner,
        Plain::Even => Taker::Even,
        Plain::Usage => Taker::Usage,
        Plain::Cost => Taker::Cost,
        Plain::Reserved => Taker::Reserved,
    })
}

fn read_shares(entry: &mut Entry<'_>, shares: &BTreeMap<String, Value>) -> Result<Taker, PolicyError> {
    let mut parts = Vec::with_capacity(shares.len());
    for (name, share) in shares {
        let weight = entry.decimal(&format!("by.{name}"), share)?;
        parts.push(SharePart { tenant: entry.tenant("by", name)?, weight });
    }
    let sum = UnitPrice(parts.iter().map(|part| part.weight.0).sum());
    if ![1_000_000, 100_000_000].contains(&sum.0) {
        return Err(PolicyError::Shares { at: entry.at(), key: "by", sum });
    }
    Ok(Taker::Fixed(parts))
}

impl Row for PoolOwnerRow {
    const SECTION: &'static str = "pool_owner";
    type Read = PoolOwner;

    fn id(&self) -> &str {
        &self.pool
    }

    fn owns_id(&self) -> bool {
        // A pool has one owner after another.
        false
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<PoolOwner, PolicyError> {
        Ok(PoolOwner {
            pool: entry.pool("pool", &self.pool)?,
            tenant: entry.tenant("tenant", &self.tenant)?,
            valid: entry.valid(&self.from, self.to.as_ref())?,
        })
    }
}
