//! One mapping rule: conditions that must all hold, a tenant, and the time in which it counts.

use super::{Condition, Site, TenantId};
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

impl Rule {
    /// Whether it counts at an instant.
    pub fn holds_at(&self, at_ms: i64) -> bool {
        self.from_ms.is_none_or(|from_ms| from_ms <= at_ms) && self.to_ms.is_none_or(|to_ms| at_ms < to_ms)
    }

    /// Whether all conditions hold of an owner at a place.
    pub fn fits(&self, owner: &Owner, site: Site<'_>) -> bool {
        self.conditions.iter().all(|condition| condition.fits(owner, site))
    }

    /// Whether it looks at nothing but what users choose: they can make it match.
    pub fn is_user_controlled(&self) -> bool {
        self.conditions.iter().all(Condition::is_user_controlled)
    }

    /// For people: `namespace = "vision-*" and kind = kubernetes`.
    pub fn describe(&self) -> String {
        self.conditions.iter().map(Condition::to_string).collect::<Vec<_>>().join(" and ")
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
