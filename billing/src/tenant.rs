//! Tenants and the rules that say whose a workload is.
//!
//! The node sends raw identity; here an ordered list of rules with validity decides, first match wins. With no rules
//! written, namespace, Slurm account or user becomes a tenant of that name. What nothing matches is `unattributed`:
//! shown, never spread silently.

use chrono_tz::Tz;
use schema::owner::Owner;
use schema::window::Window;
use std::collections::BTreeMap;

mod default;
mod error;
mod file;
mod id;
mod rule;
pub use error::TenantError;
pub use id::{BadTenantId, TenantId};
pub use rule::{Condition, Rule, kind_name};

/// Tenants and mapping rules of one version of `tenants.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenants {
    tenants: BTreeMap<TenantId, Tenant>,
    rules: Vec<Rule>,
    hash: String,
}

/// A tenant's master data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its id: a safe name.
    pub id: TenantId,
    /// Name for people.
    pub name: String,
    /// The tenant it is part of.
    pub parent: Option<TenantId>,
    /// Cost centre that its statements name.
    pub cost_centre: Option<String>,
    /// Prefix of its statement numbers: `VIS` in `VIS-2026-09`.
    pub statement_prefix: String,
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
}

impl Tenants {
    /// No tenants and no rules: names come from namespace, Slurm account or user.
    pub fn empty() -> Self {
        Self { tenants: BTreeMap::new(), rules: Vec::new(), hash: crate::place::hash_of("") }
    }

    /// Reads `tenants.toml`; `file` is its name in errors, `zone` the billing zone that local dates are in.
    ///
    /// # Errors
    /// The first thing wrong, with file, line, key and remedy.
    pub fn parse(file: &str, text: &str, zone: Tz) -> Result<Self, TenantError> {
        let (tenants, rules) = file::read(file, text, zone)?;
        Ok(Self { tenants, rules, hash: crate::place::hash_of(text) })
    }

    /// SHA-256 of the file, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The declared tenants.
    pub fn declared(&self) -> impl Iterator<Item = &Tenant> {
        self.tenants.values()
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// A tenant's master data; one that isn't declared is named after its id, and so are its statements, with a `~`
    /// where a declared tenant has that prefix.
    pub fn get(&self, id: &TenantId) -> Tenant {
        self.tenants.get(id).cloned().unwrap_or_else(|| {
            let prefix = id.as_str();
            let taken = prefix == TenantId::PLATFORM_PREFIX
                || self.tenants.values().any(|t| t.statement_prefix == prefix);
            Tenant {
                id: id.clone(),
                name: prefix.into(),
                parent: None,
                cost_centre: None,
                statement_prefix: if taken { format!("{prefix}~") } else { prefix.into() },
            }
        })
    }

    /// Where the tenant stands in the tree: `/research/vision`.
    pub fn path(&self, id: &TenantId) -> String {
        let mut path = format!("/{id}");
        let mut at = id;
        while let Some(parent) = self.tenants.get(at).and_then(|t| t.parent.as_ref()) {
            path.insert_str(0, &format!("/{parent}"));
            at = parent;
        }
        path
    }

    /// Whose a workload was at an instant. `None` for an owner that isn't known.
    pub fn resolve(&self, owner: Option<&Owner>, at_ms: i64) -> Resolved {
        let nobody = |by| Resolved { tenant: TenantId::unattributed(), by };
        let Some(owner) = owner else { return nobody(MatchedBy::NoOwner) };
        if self.rules.is_empty() {
            return default::resolve(owner);
        }
        match self.rules.iter().position(|rule| rule.holds_at(at_ms) && rule.fits(owner)) {
            Some(at) => Resolved { tenant: self.rules[at].tenant.clone(), by: MatchedBy::Rule(at + 1) },
            None => nobody(MatchedBy::NoRule),
        }
    }

    /// Every instant strictly inside the window at which some rule starts or ends, ascending: hours are cut there.
    pub fn change_instants(&self, window: Window) -> Vec<i64> {
        let edges = self.rules.iter().flat_map(|r| [r.from_ms, r.to_ms]).flatten();
        let mut inside: Vec<i64> = edges.filter(|at| window.start_ms < *at && *at < window.end_ms).collect();
        inside.sort_unstable();
        inside.dedup();
        inside
    }
}

#[cfg(test)]
mod tests;
