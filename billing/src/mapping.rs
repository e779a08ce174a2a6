//! What the mapping rules do to usage that is already there: which rule catches what, what nothing catches, and what
//! another version of the rules would move.

mod dry_run;
mod unmapped;
pub use dry_run::{DryRun, Moved, RuleCatch, dry_run};
pub use unmapped::{Apart, Group, Unmapped, unmapped};

use crate::rating::Owners;
use crate::tenant::{MatchedBy, Site, TenantId, Tenants};
use crate::usage::UsageTotal;
use schema::id::WorkloadId;
use schema::units::NanoGpuHours;
use std::collections::{BTreeMap, BTreeSet};

/// What each tenant that had ended still held, from its end on.
pub fn ended_use(usage: &[UsageTotal], owners: &Owners, tenants: &Tenants) -> BTreeMap<TenantId, Catch> {
    let mut used: BTreeMap<TenantId, Catch> = BTreeMap::new();
    for row in usage {
        let resolved = tenants.resolve(owners.get(&row.workload), Site::of(row), row.segment.start_ms);
        if let MatchedBy::TenantEnded(ended) = resolved.by {
            used.entry(ended.tenant).or_default().take(row);
        }
    }
    used
}

/// How much of something there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catch {
    workloads: BTreeSet<WorkloadId>,
    /// Device time held.
    pub held: NanoGpuHours,
}

impl Catch {
    fn take(&mut self, row: &UsageTotal) {
        self.workloads.insert(row.workload);
        self.held = self.held + row.held;
    }

    /// How many workloads.
    pub fn workloads(&self) -> usize {
        self.workloads.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.workloads.is_empty()
    }
}
