//! The whole fleet in a period, and the check that all statements together are it.

use super::{PlatformStatement, Statement};
use crate::money::Amount;
use crate::rating::{Line, PlatformKind};
use crate::tenant::TenantId;
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;

/// One part of the fleet's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetPart {
    /// A tenant's id, or `unattributed`, `free`, `stranded`, `unavailable`, `unobserved`.
    pub name: String,
    /// Device time.
    pub quantity: NanoGpuHours,
    /// The part of it that has no price and is in no amount.
    pub unpriced: NanoGpuHours,
    /// Sum of its posted amounts.
    pub amount: Amount,
}

/// The fleet over the period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// Device time in service.
    pub capacity: NanoGpuHours,
    /// Devices with time in service.
    pub devices: usize,
    /// Tenants by id, then `unattributed`, `free`, `stranded`, `unavailable`, `unobserved`.
    pub parts: Vec<FleetPart>,
    /// Device time that has no price and is in no amount.
    pub unpriced: NanoGpuHours,
    /// Sum of all posted amounts.
    pub amount: Amount,
    /// Busy time of workloads.
    pub busy: NanoGpuHours,
    /// Busy time with no owner to be found.
    pub ghost: NanoGpuHours,
    /// Observed time that was not busy.
    pub not_busy: NanoGpuHours,
    /// Observed time whose use is unknown.
    pub unknown: NanoGpuHours,
}

impl FleetPart {
    /// Sums quantities and amounts of lines; a line without an amount is unpriced.
    fn of(name: &str, lines: impl Iterator<Item = (NanoGpuHours, Option<Amount>)>) -> Self {
        let none = NanoGpuHours(0);
        let mut part = Self { name: name.into(), quantity: none, unpriced: none, amount: Amount(0) };
        for (quantity, amount) in lines {
            part.quantity = part.quantity + quantity;
            match amount {
                Some(amount) => part.amount = part.amount + amount,
                None => part.unpriced = part.unpriced + quantity,
            }
        }
        part
    }

    /// The amount; `None` where none of it has a price, which is not the same as zero.
    pub fn amount_known(&self) -> Option<Amount> {
        let known = self.quantity.0 == 0 || self.unpriced != self.quantity;
        known.then_some(self.amount)
    }
}

impl Fleet {
    /// From the statements and the devices they must add up to.
    pub(super) fn of(tenants: &[Statement], platform: &PlatformStatement, devices: &[DeviceTotal]) -> Self {
        let usage = |line: &Line| (line.sums.held, line.amount);
        let mut parts: Vec<FleetPart> =
            tenants.iter().map(|s| FleetPart::of(s.tenant.id.as_str(), s.lines.iter().map(usage))).collect();
        parts.push(FleetPart::of(TenantId::UNATTRIBUTED, platform.unattributed.iter().map(usage)));
        for kind in PlatformKind::ALL {
            let of_kind = platform.lines.iter().filter(|l| l.kind == kind);
            parts.push(FleetPart::of(kind.word(), of_kind.map(|l| (l.quantity, l.amount))));
        }
        let names: std::collections::BTreeSet<&str> = devices.iter().map(|d| d.device.as_str()).collect();
        Self {
            capacity: devices.iter().map(|d| d.capacity).sum(),
            devices: names.len(),
            unpriced: parts.iter().map(|p| p.unpriced).sum(),
            amount: parts.iter().map(|p| p.amount).sum(),
            parts,
            busy: devices.iter().map(|d| d.busy).sum(),
            ghost: devices.iter().map(|d| d.ghost).sum(),
            not_busy: devices.iter().map(|d| d.not_busy).sum(),
            unknown: devices.iter().map(|d| d.unknown).sum(),
        }
    }

    /// Whether the parts are the whole, in both ledgers.
    pub fn adds_up(&self) -> bool {
        let observed = self.busy + self.ghost + self.not_busy + self.unknown;
        let unseen: NanoGpuHours = self
            .parts
            .iter()
            .filter(|p| ["unavailable", "unobserved"].contains(&p.name.as_str()))
            .map(|p| p.quantity)
            .sum();
        self.parts.iter().map(|p| p.quantity).sum::<NanoGpuHours>() == self.capacity
            && observed + unseen == self.capacity
    }
}
