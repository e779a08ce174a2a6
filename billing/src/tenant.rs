//! Tenants and the rules that say whose a workload is.
//!
//! The node sends raw identity; here an ordered list of rules with validity decides, first match wins. With no rules
//! written, namespace, Slurm account or user becomes a tenant of that name. What nothing matches is `unattributed`:
//! shown, never spread silently. So is what a tenant uses after its end.

use chrono_tz::Tz;
use schema::owner::Owner;
use schema::window::Window;
use std::collections::BTreeMap;

mod condition;
mod default;
mod error;
mod file;
mod id;
mod master;
mod rule;
mod site;
pub use condition::Condition;
pub use error::TenantError;
pub use id::{BadTenantId, TenantId};
pub use master::{CostCentre, Tenant};
pub use rule::{Rule, kind_name};
pub use site::{Pool, Site};

use master::History;

/// Tenants and mapping rules of one version of `tenants.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenants {
    tenants: BTreeMap<TenantId, History>,
    rules: Vec<Rule>,
    pools: Vec<Pool>,
    hash: String,
}

/// Whose a workload was, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The tenant.
    pub tenant: TenantId,
    /// What decided.
    pub by: MatchedBy,
}

/// What decided whose a workload was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// A rule, by its position from 1 in `tenants.toml`.
    Rule(usize),
    /// With no rules written: this owner attribute.
    Attribute(&'static str),
    /// No owner is known.
    NoOwner,
    /// An owner is known and nothing matched.
    NoRule,
    /// It would be this tenant's, which had ended: `unattributed`.
    TenantEnded(Ended),
}

/// A tenant that had ended when something of its was still in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Ended {
    /// The tenant.
    pub tenant: TenantId,
    /// Its first instant no more, Unix milliseconds.
    pub at_ms: i64,
}

impl Tenants {
    /// No tenants and no rules: names come from namespace, Slurm account or user.
    pub fn empty() -> Self {
        Self {
            tenants: BTreeMap::new(),
            rules: Vec::new(),
            pools: Vec::new(),
            hash: crate::place::hash_of(""),
        }
    }

    /// Reads `tenants.toml`; `file` is its name in errors, `zone` the billing zone that local dates are in.
    ///
    /// # Errors
    /// The first thing wrong, with file, line, key and remedy.
    pub fn parse(file: &str, text: &str, zone: Tz) -> Result<Self, TenantError> {
        let file::Read { tenants, rules, pools } = file::read(file, text, zone)?;
        Ok(Self { tenants, rules, pools, hash: crate::place::hash_of(text) })
    }

    /// SHA-256 of the file, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The declared tenants with their data at an instant, by id.
    pub fn declared(&self, at_ms: i64) -> impl Iterator<Item = &Tenant> {
        self.tenants.values().map(move |history| history.at(at_ms))
    }

    /// How many tenants are declared.
    pub fn count(&self) -> usize {
        self.tenants.len()
    }

    /// Whether a tenant is declared.
    pub fn is_declared(&self, id: &TenantId) -> bool {
        self.tenants.contains_key(id)
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The pools, by name.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Names of the pools that hold a node, in the order of the alphabet.
    pub fn pools_of(&self, site: Site<'_>) -> Vec<&str> {
        self.pools.iter().filter(|pool| pool.holds(site)).map(|pool| pool.name.as_str()).collect()
    }

    /// A tenant's master data at an instant; one that isn't declared is named after its id, and so are its statements,
    /// with a `~` where a declared tenant has that prefix.
    pub fn get(&self, id: &TenantId, at_ms: i64) -> Tenant {
        self.tenants.get(id).map(|history| history.at(at_ms).clone()).unwrap_or_else(|| {
            let prefix = id.as_str();
            let taken = prefix == TenantId::PLATFORM_PREFIX
                || self.declared(at_ms).any(|t| t.statement_prefix == prefix);
            Tenant::undeclared(id, if taken { format!("{prefix}~") } else { prefix.into() })
        })
    }

    /// The cost centres of a tenant in a window, each from when it holds there. Empty where it never has one.
    pub fn cost_centres(&self, id: &TenantId, window: Window) -> Vec<CostCentre> {
        self.tenants.get(id).map_or_else(Vec::new, |history| history.cost_centres(window))
    }

    /// Where the tenant stands in the tree at an instant: `/research/vision`.
    pub fn path(&self, id: &TenantId, at_ms: i64) -> String {
        let mut path = format!("/{id}");
        let mut at = id;
        while let Some(parent) = self.tenants.get(at).and_then(|t| t.at(at_ms).parent.as_ref()) {
            path.insert_str(0, &format!("/{parent}"));
            at = parent;
        }
        path
    }

    /// The tenant and the nodes above it at an instant, itself first.
    pub fn ancestors(&self, id: &TenantId, at_ms: i64) -> Vec<TenantId> {
        let mut path = vec![id.clone()];
        let mut at = id;
        while let Some(parent) = self.tenants.get(at).and_then(|t| t.at(at_ms).parent.as_ref()) {
            path.push(parent.clone());
            at = parent;
        }
        path
    }

    /// Whether a tenant is another, or below it in the tree at an instant.
    pub fn is_within(&self, id: &TenantId, above: &TenantId, at_ms: i64) -> bool {
        self.ancestors(id, at_ms).contains(above)
    }

    /// The `[[pool]]` of that name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// The tenant's end, if it has one at or before an instant.
    pub fn ended(&self, id: &TenantId, at_ms: i64) -> Option<Ended> {
        let ends_ms = self.tenants.get(id)?.ends_ms()?;
        (ends_ms <= at_ms).then(|| Ended { tenant: id.clone(), at_ms: ends_ms })
    }

    /// Whose a workload was at an instant. `None` for an owner that isn't known.
    pub fn resolve(&self, owner: Option<&Owner>, site: Site<'_>, at_ms: i64) -> Resolved {
        let nobody = |by| Resolved { tenant: TenantId::unattributed(), by };
        let Some(owner) = owner else { return nobody(MatchedBy::NoOwner) };
        let found = if self.rules.is_empty() {
            default::resolve(owner)
        } else {
            match self.rules.iter().position(|rule| rule.holds_at(at_ms) && rule.fits(owner, site)) {
                Some(at) => Resolved { tenant: self.rules[at].tenant.clone(), by: MatchedBy::Rule(at + 1) },
                None => nobody(MatchedBy::NoRule),
            }
        };
        match self.ended(&found.tenant, at_ms) {
            Some(ended) => nobody(MatchedBy::TenantEnded(ended)),
            None => found,
        }
    }

    /// Every instant strictly inside the window at which some rule starts or ends, or a tenant ends or gets another
    /// parent (and with it other prices), ascending: hours are cut there.
    pub fn change_instants(&self, window: Window) -> Vec<i64> {
        let edges = self.rules.iter().flat_map(|r| [r.from_ms, r.to_ms]).flatten();
        let ends = self.tenants.values().filter_map(History::ends_ms);
        let moves = self.tenants.values().flat_map(History::moves_ms);
        window.inside(edges.chain(ends).chain(moves))
    }
}

#[cfg(test)]
mod tests;
