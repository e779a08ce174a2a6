//! For whom and where a price holds, and which of several that fit is the most exact.
//!
//! The order, from the strongest: the nearest tenant; then priority class, QOS, partition and pool, in this order; then
//! the MIG profile; then the model. In each of them an exact name beats a pattern, a longer pattern a shorter, and any
//! of them none.

use super::Asked;
use crate::glob;
use crate::tenant::{Pool, TenantId};
use std::cmp::Reverse;

/// Owner attributes that the selectors of classes look at, in their order.
const CLASSES: [(&str, &str); 3] =
    [("priority_class", "priority_class"), ("qos", "slurm_qos"), ("partition", "slurm_partition")];

/// What an entry asks for besides its model. An empty list asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selectors {
    /// A tenant or a node of the tree: the entry holds for it and all below, and is its contracted price.
    pub tenant: Option<TenantId>,
    /// Kubernetes priority classes.
    pub priority_class: Vec<String>,
    /// Slurm QOS.
    pub qos: Vec<String>,
    /// Slurm partitions.
    pub partition: Vec<String>,
    /// Pools of `tenants.toml`.
    pub pool: Vec<String>,
    /// MIG profiles.
    pub profile: Vec<String>,
}

/// How exactly a name was asked for: not at all, by a pattern, or by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Any,
    Pattern(usize),
    Name,
}

/// How exactly an entry fits; the greatest wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank<'a> {
    tenant: Reverse<usize>,
    classes: [Fit; 3],
    pool: Fit,
    profile: Fit,
    model: Fit,
    /// Two patterns of one length: the earlier in the alphabet, so that the answer is always the same.
    last: Reverse<&'a str>,
}

impl Selectors {
    /// How exactly an entry of this model and these selectors fits what is asked; `None` where it doesn't.
    pub(super) fn rank<'a>(&self, model: &'a str, asked: &Asked<'_>, pools: &[Pool]) -> Option<Rank<'a>> {
        let tenant = match &self.tenant {
            None => usize::MAX,
            Some(tenant) => asked.path.iter().position(|node| node == tenant)?,
        };
        let mut classes = [Fit::Any; 3];
        for ((fit, patterns), (_, attribute)) in classes.iter_mut().zip(self.classes()).zip(CLASSES) {
            let value = || asked.owner?.attributes.get(attribute).map(String::as_str);
            *fit = best(patterns, value)?;
        }
        let pool = self.fit_pool(asked, pools)?;
        let profile = best(&self.profile, || Some(asked.profile))?;
        let model_fit = fit(model, asked.model)?;
        Some(Rank { tenant: Reverse(tenant), classes, pool, profile, model: model_fit, last: Reverse(model) })
    }

    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether something could be asked that both fit equally well, for all that their texts say.
    pub(super) fn could_tie(&self, other: &Selectors) -> bool {
        let share =
            |a: &[String], b: &[String]| (a.is_empty() && b.is_empty()) || a.iter().any(|p| b.contains(p));
        self.tenant == other.tenant
            && self.classes().into_iter().zip(other.classes()).all(|(a, b)| share(a, b))
            && share(&self.pool, &other.pool)
            && share(&self.profile, &other.profile)
    }

    fn classes(&self) -> [&[String]; 3] {
        [&self.priority_class, &self.qos, &self.partition]
    }

    fn fit_pool(&self, asked: &Asked<'_>, pools: &[Pool]) -> Option<Fit> {
        if self.pool.is_empty() {
            return Some(Fit::Any);
        }
        let holding = pools.iter().filter(|pool| pool.holds(asked.site));
        holding.filter_map(|pool| best(&self.pool, || Some(&pool.name))).max()
    }
}

/// Of a list of patterns, how exactly the best fits; an empty list asks for nothing.
fn best<'a>(patterns: &[String], text: impl FnOnce() -> Option<&'a str>) -> Option<Fit> {
    if patterns.is_empty() {
        return Some(Fit::Any);
    }
    let text = text()?;
    patterns.iter().filter_map(|pattern| fit(pattern, text)).max()
}

fn fit(pattern: &str, text: &str) -> Option<Fit> {
    glob::fits(pattern, text)
        .then(|| if pattern.contains('*') { Fit::Pattern(pattern.len()) } else { Fit::Name })
}

/// More exact patterns of one text win: a name without `*`, then the longer, then the earlier in the alphabet.
pub(super) fn exactness(pattern: &str) -> (bool, usize, Reverse<&str>) {
    (!pattern.contains('*'), pattern.len(), Reverse(pattern))
}

/// For people: `, qos "low" or "scavenger", for tenant vision`; empty where nothing is asked for.
impl std::fmt::Display for Selectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = CLASSES.iter().map(|(name, _)| *name).chain(["pool", "profile"]);
        let lists = self.classes().into_iter().chain([&self.pool[..], &self.profile[..]]);
        for (name, patterns) in names.zip(lists).filter(|(_, patterns)| !patterns.is_empty()) {
            let any: Vec<String> = patterns.iter().map(|p| format!("{p:?}")).collect();
            write!(f, ", {name} {}", any.join(" or "))?;
        }
        match &self.tenant {
            Some(tenant) => write!(f, ", for tenant {tenant}"),
            None => Ok(()),
        }
    }
}
