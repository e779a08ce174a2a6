//! One mapping rule: conditions that must all hold, a tenant, and the time in which it counts.

use super::TenantId;
use crate::glob;
use schema::owner::{Owner, OwnerKind};

/// A rule of `tenants.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whose a matching workload is.
    pub tenant: TenantId,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// First instant at which it counts; `None` since ever.
    pub from_ms: Option<i64>,
    /// First instant at which it no longer counts; `None` for ever.
    pub to_ms: Option<i64>,
}

/// Something that must be so of an owner. Patterns may carry `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// What started it.
    Kind(OwnerKind),
    /// An identifying attribute fits a pattern; an owner without the attribute doesn't match.
    Attribute {
        /// Key of [`schema::owner::key`].
        key: String,
        /// Pattern over its value.
        pattern: String,
    },
    /// The evidence (a cgroup line) fits a pattern.
    Cgroup(String),
}

impl Rule {
    /// Whether it counts at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.from_ms.is_none_or(|from_ms| from_ms <= at_ms) && self.to_ms.is_none_or(|to_ms| at_ms < to_ms)
    }

    /// Whether all conditions hold of an owner.
    pub fn fits(&self, owner: &Owner) -> bool {
        self.conditions.iter().all(|condition| condition.fits(owner))
    }

    /// For people: `namespace = "vision-*" and kind = kubernetes`.
    pub fn describe(&self) -> String {
        self.conditions.iter().map(Condition::to_string).collect::<Vec<_>>().join(" and ")
    }
}

impl Condition {
    fn fits(&self, owner: &Owner) -> bool {
        match self {
            Condition::Kind(kind) => owner.kind == *kind,
            Condition::Attribute { key, pattern } => {
                owner.attributes.get(key).is_some_and(|value| glob::fits(pattern, value))
            }
            Condition::Cgroup(pattern) => glob::fits(pattern, &owner.evidence),
        }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Condition::Kind(kind) => write!(f, "kind = {}", kind_name(*kind)),
            Condition::Attribute { key, pattern } => write!(f, "{key} = {pattern:?}"),
            Condition::Cgroup(pattern) => write!(f, "cgroup = {pattern:?}"),
        }
    }
}

/// The kinds that a rule may name.
pub(super) const KINDS: [(&str, OwnerKind); 6] = [
    ("kubernetes", OwnerKind::Kubernetes),
    ("slurm", OwnerKind::Slurm),
    ("container", OwnerKind::Container),
    ("systemd", OwnerKind::Systemd),
    ("user", OwnerKind::User),
    ("vm", OwnerKind::Vm),
];

/// A kind in one word.
pub fn kind_name(kind: OwnerKind) -> &'static str {
    KINDS.iter().find(|(_, k)| *k == kind).map_or("unknown", |(name, _)| name)
}
