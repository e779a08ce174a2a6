//! What posting is made from: what tenants held, and what is left over with its cost.

use super::{Ledger, PostError};
use crate::money::{Exact, UnitPrice};
use crate::policy::CostKind;
use crate::tenant::{Site, TenantId};
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeMap;

/// What a tenant held of a device in a segment, on one line of its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The segment, within one local day.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// Who held it; `unattributed` where nobody could be found.
    pub tenant: TenantId,
    /// The tenant's line that it is posted on, by any name that is that line's alone: rows of one line are rounded
    /// together, as the line was.
    pub line: String,
    /// Device time.
    pub held: NanoGpuHours,
    /// What it cost; `None` where there is no price.
    pub exact: Option<Exact>,
}

/// What the platform's own time costs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnPrice {
    /// Id of the price book's entry.
    pub entry: String,
    /// Price of a device for an hour.
    pub per_gpu_hour: UnitPrice,
}

/// A cost that stands on somebody's statement and may be allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What kind of cost.
    pub kind: CostKind,
    /// On whose statement: the platform's, or the shared tenant's.
    pub from: TenantId,
    /// When.
    pub segment: Window,
    /// Cluster of the device; empty for an overhead.
    pub cluster: String,
    /// Node of the device; empty for an overhead.
    pub node: String,
    /// NVML product name of the device, or what the overhead is.
    pub what: String,
    /// The row that it is posted on; rows of one are rounded together.
    pub line: String,
    /// Device time; zero for an overhead.
    pub held: NanoGpuHours,
    /// Its cost; `None` where there is no price.
    pub exact: Option<Exact>,
}

/// Reserved device time that its owner was charged for: used, unused or lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedTime {
    /// Whose.
    pub tenant: TenantId,
    /// When.
    pub segment: Window,
    /// Cluster of the device.
    pub cluster: String,
    /// Node of the device.
    pub node: String,
    /// NVML product name of the device.
    pub model: String,
    /// Device time.
    pub hours: NanoGpuHours,
}

impl Held {
    /// Where the device is.
    pub fn site(&self) -> Site<'_> {
        Site { cluster: &self.cluster, node: &self.node }
    }
}

impl Piece {
    /// Where the device is.
    pub fn site(&self) -> Site<'_> {
        Site { cluster: &self.cluster, node: &self.node }
    }
}

impl ReservedTime {
    /// Where the device is.
    pub fn site(&self) -> Site<'_> {
        Site { cluster: &self.cluster, node: &self.node }
    }
}

/// The usage of tenants whose cost is shared out, as pieces to allocate.
pub fn shared(ledger: &Ledger<'_>) -> Vec<Piece> {
    let policies = || ledger.policies.allocations.iter().filter(|p| p.cost == CostKind::Shared);
    ledger
        .held
        .iter()
        .filter(|row| {
            policies()
                .any(|p| p.shared.as_ref() == Some(&row.tenant) && p.valid.holds_at(row.segment.start_ms))
        })
        .map(|row| Piece {
            kind: CostKind::Shared,
            from: row.tenant.clone(),
            segment: row.segment,
            cluster: row.cluster.clone(),
            node: row.node.clone(),
            what: row.model.clone(),
            line: row.line.clone(),
            held: row.held,
            exact: row.exact,
        })
        .collect()
}

impl Ledger<'_> {
    /// No entry changes inside a segment, and tenants hold of each device what it says they hold.
    pub(super) fn check(&self) -> Result<(), PostError> {
        let changes = self.policies.change_instants(Window::new(i64::MIN, i64::MAX));
        let mut held: BTreeMap<(&str, Window), (NanoGpuHours, NanoGpuHours)> = BTreeMap::new();
        for device in self.devices {
            let sums = held.entry((&device.device, device.segment)).or_default();
            sums.1 = sums.1 + device.held;
        }
        for row in self.held {
            let sums = held.entry((&row.device, row.segment)).or_default();
            sums.0 = sums.0 + row.held;
        }
        for ((device, segment), (tenants, device_held)) in held {
            let next = changes.partition_point(|at| *at <= segment.start_ms);
            if let Some(change_ms) = changes.get(next).filter(|at| **at < segment.end_ms) {
                return Err(PostError::CrossesChange {
                    device: device.into(),
                    segment,
                    change_ms: *change_ms,
                });
            }
            if tenants != device_held {
                return Err(PostError::HeldDiffers { device: device.into(), segment, tenants, device_held });
            }
        }
        Ok(())
    }
}
