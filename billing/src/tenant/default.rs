//! Whose a workload is when no rules are written: what the scheduler says, then the user.

use super::{MatchedBy, Resolved, TenantId};
use schema::owner::{Owner, OwnerKind, key};

/// Namespace, Slurm account, user name, or the uid of a plain user's process; else `unattributed`.
pub(super) fn resolve(owner: &Owner) -> Resolved {
    let named = |attribute: &'static str| {
        let name = owner.attributes.get(attribute).filter(|name| !name.is_empty())?;
        // A bare number would read as an account's name.
        let tenant = match attribute {
            key::UID => TenantId::from_name(&format!("uid-{name}")),
            _ => TenantId::from_name(name),
        };
        Some(Resolved { tenant, by: MatchedBy::Attribute(attribute) })
    };
    let found = match owner.kind {
        OwnerKind::Unknown | OwnerKind::Unspecified => None,
        OwnerKind::Kubernetes => named(key::NAMESPACE),
        OwnerKind::Slurm => named(key::SLURM_ACCOUNT).or_else(|| named(key::USER)),
        OwnerKind::User => named(key::USER).or_else(|| named(key::UID)),
        OwnerKind::Container | OwnerKind::Systemd | OwnerKind::Vm => named(key::USER),
    };
    found.unwrap_or(Resolved { tenant: TenantId::unattributed(), by: MatchedBy::NoRule })
}
