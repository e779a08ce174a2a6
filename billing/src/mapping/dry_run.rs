//! A version of the rules tried over past usage: what each rule catches, and what would move from whom to whom.

use super::Catch;
use crate::money::{Amount, Currency, Exact};
use crate::price::PriceBook;
use crate::rating::{Owners, Rules, Sums};
use crate::tenant::{MatchedBy, Site, TenantId, Tenants};
use crate::usage::UsageTotal;
use std::collections::{BTreeMap, BTreeSet};

/// What a version of the rules does to some usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Each rule, in order.
    pub rules: Vec<RuleCatch>,
    /// With no rules written: what each attribute names a tenant of.
    pub named: BTreeMap<&'static str, Catch>,
    /// Caught, but the tenant had ended.
    pub ended: BTreeMap<TenantId, Catch>,
    /// An owner is known and no rule matches it.
    pub no_rule: Catch,
    /// No owner is known.
    pub no_owner: Catch,
    /// Everything.
    pub total: Catch,
    /// What isn't whose it is now, by from and to; empty where the version is the current one.
    pub moved: Vec<Moved>,
}

/// What a rule catches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCatch {
    /// Position from 1.
    pub number: usize,
    /// Its conditions in words.
    pub what: String,
    /// Whose it makes what it catches.
    pub tenant: TenantId,
    /// What it catches first.
    pub catch: Catch,
    /// Earlier rules that take what it would catch, where it catches nothing.
    pub taken_by: BTreeSet<usize>,
    /// Whose it is now, where the version is another one.
    pub now: BTreeMap<TenantId, Catch>,
}

/// Usage that would be another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Whose it is now.
    pub from: TenantId,
    /// Whose it would be.
    pub to: TenantId,
    /// How much.
    pub catch: Catch,
    /// What it costs, exact: `from` would pay as much less and `to` as much more, before rounding. Usage without a price
    /// isn't in it.
    pub exact: Exact,
    /// Whether some of it has no price.
    pub unpriced: bool,
}

impl Moved {
    /// What it costs, rounded to the currency's unit.
    pub fn amount(&self, currency: &Currency) -> Amount {
        self.exact.round_half_even(currency)
    }
}

/// Tries `tenants` over usage. `current` is the version in force, where `tenants` is another one. Segments are taken whole
/// by whose they are at their start.
pub fn dry_run(
    usage: &[UsageTotal],
    owners: &Owners,
    tenants: &Tenants,
    current: Option<&Tenants>,
    prices: &PriceBook,
) -> DryRun {
    let rules = tenants.rules().iter().zip(1..).map(|(rule, number)| RuleCatch {
        number,
        what: rule.describe(),
        tenant: rule.tenant.clone(),
        catch: Catch::default(),
        taken_by: BTreeSet::new(),
        now: BTreeMap::new(),
    });
    let mut run = DryRun {
        rules: rules.collect(),
        named: BTreeMap::new(),
        ended: BTreeMap::new(),
        no_rule: Catch::default(),
        no_owner: Catch::default(),
        total: Catch::default(),
        moved: Vec::new(),
    };
    let mut moved: BTreeMap<(TenantId, TenantId), (Catch, Exact, bool)> = BTreeMap::new();
    for row in usage {
        let (resolved, key) = Rules { tenants, prices }.line_among(row, owners);
        run.total.take(row);
        let caught = first_match(row, owners, tenants);
        if let Some(at) = caught {
            run.rules[at].catch.take(row);
        }
        match &resolved.by {
            MatchedBy::Rule(_) => {}
            MatchedBy::Attribute(attribute) => run.named.entry(attribute).or_default().take(row),
            MatchedBy::TenantEnded(ended) => run.ended.entry(ended.tenant.clone()).or_default().take(row),
            MatchedBy::NoOwner => run.no_owner.take(row),
            MatchedBy::NoRule => run.no_rule.take(row),
        }
        let Some(current) = current else { continue };
        let now = current.resolve(owners.get(&row.workload), Site::of(row), row.segment.start_ms).tenant;
        if let Some(at) = caught {
            run.rules[at].now.entry(now.clone()).or_default().take(row);
        }
        if now != resolved.tenant {
            let entry = moved.entry((now, resolved.tenant)).or_default();
            entry.0.take(row);
            match key.price.cost_of(&Sums::of(row, key.basis)) {
                Some(cost) => entry.1 = entry.1 + cost,
                None => entry.2 = true,
            }
        }
    }
    note_taken(&mut run.rules, usage, owners, tenants);
    run.moved = moved
        .into_iter()
        .map(|((from, to), (catch, exact, unpriced))| Moved { from, to, catch, exact, unpriced })
        .collect();
    run.moved.sort_by(|a, b| (b.catch.held, &a.from, &a.to).cmp(&(a.catch.held, &b.from, &b.to)));
    run
}

/// Index of the rule that catches a row, whether or not its tenant had ended.
fn first_match(row: &UsageTotal, owners: &Owners, tenants: &Tenants) -> Option<usize> {
    let owner = owners.get(&row.workload)?;
    let fits =
        |rule: &crate::tenant::Rule| rule.holds_at(row.segment.start_ms) && rule.fits(owner, Site::of(row));
    tenants.rules().iter().position(fits)
}

/// Of rules that catch nothing: which earlier ones take what they would.
fn note_taken(rules: &mut [RuleCatch], usage: &[UsageTotal], owners: &Owners, tenants: &Tenants) {
    let idle: Vec<usize> = (0..rules.len()).filter(|at| rules[*at].catch.is_empty()).collect();
    if idle.is_empty() {
        return;
    }
    for row in usage {
        let (Some(owner), Some(first)) = (owners.get(&row.workload), first_match(row, owners, tenants))
        else {
            continue;
        };
        for at in &idle {
            let rule = &tenants.rules()[*at];
            if rule.holds_at(row.segment.start_ms) && rule.fits(owner, Site::of(row)) {
                rules[*at].taken_by.insert(first + 1);
            }
        }
    }
}
