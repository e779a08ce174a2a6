//! What stands on statements besides usage: reservations, fees, allocated cost, basis differences, corrections, credits,
//! adjustments and tax.
//!
//! A charge that takes device time or money from one statement to another is a pair whose sum is zero, so that all
//! statements together stay the fleet. Amounts here are posted: each was rounded once, when the charge was made.

use crate::money::{Amount, Exact, UnitPrice};
use crate::tenant::TenantId;
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};

/// A row of a statement that isn't usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// On whose statement it stands; [`TenantId::platform`] for the platform's own.
    pub tenant: TenantId,
    /// What kind of row it is; kinds stand on a statement in this order.
    pub kind: ChargeKind,
    /// What it is, in words for people, without the kind's own word.
    pub what: String,
    /// Device time that it moves to this statement (negative: away from it); zero where it moves money alone. Over all
    /// statements it sums to zero.
    pub held: NanoGpuHours,
    /// What was multiplied, where something was.
    pub quantity: Option<Quantity>,
    /// The price of one of it, where there is one.
    pub unit_price: Option<UnitPrice>,
    /// Exact cost; equal to `amount` where an amount was shared out.
    pub exact: Exact,
    /// Posted.
    pub amount: Amount,
    /// What made it: the id of an entry of the price book, a posting, or the line that it corrects.
    pub reference: String,
    /// The statement at the other end of a pair.
    pub counterpart: Option<TenantId>,
}

/// Kinds of charges, in the order in which they stand on a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChargeKind {
    /// Reserved time: unused, or lent and mirrored.
    Reservation,
    /// A fee that doesn't depend on use.
    Fee,
    /// Energy at its price.
    Energy,
    /// What a charging basis charges beyond, or short of, the device.
    BasisDifference,
    /// Cost of free, stranded, unavailable, shared or overhead time that a policy moves.
    Allocation,
    /// A change of a closed period.
    Correction,
    /// Credit for lost work.
    Credit,
    /// Written by a person.
    Adjustment,
    /// Difference to a real invoice.
    Reconciliation,
    /// Tax.
    Tax,
}

/// A quantity with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// In 1e-9 of the unit.
    pub nano: i64,
    /// Of what.
    pub unit: Unit,
}

/// What a price is the price of one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Whole-device time.
    GpuHour,
    /// Time of one MIG instance of a profile.
    InstanceHour,
    /// Device memory held over time, GiB.
    GibHour,
    /// Energy.
    KilowattHour,
    /// A calendar month, in parts by true hours.
    Month,
    /// Whatever a fee counts.
    Piece,
}

impl ChargeKind {
    /// The letter that its rows are numbered with: `R1`, `C1`.
    pub fn letter(self) -> char {
        match self {
            Self::Reservation => 'R',
            Self::Fee => 'F',
            Self::Energy => 'E',
            Self::BasisDifference => 'B',
            Self::Allocation => 'A',
            Self::Correction => 'C',
            Self::Credit => 'K',
            Self::Adjustment => 'M',
            Self::Reconciliation => 'N',
            Self::Tax => 'T',
        }
    }

    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reservation => "reservation",
            Self::Fee => "fee",
            Self::Energy => "energy",
            Self::BasisDifference => "basis difference",
            Self::Allocation => "allocated",
            Self::Correction => "correction",
            Self::Credit => "credit",
            Self::Adjustment => "adjustment",
            Self::Reconciliation => "reconciliation",
            Self::Tax => "tax",
        }
    }
}

impl Unit {
    /// Short, as a column of a statement has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::GpuHour => "GPU-h",
            Self::InstanceHour => "inst-h",
            Self::GibHour => "GiB-h",
            Self::KilowattHour => "kWh",
            Self::Month => "month",
            Self::Piece => "pc",
        }
    }
}

impl Quantity {
    /// Device time.
    pub fn gpu_hours(quantity: NanoGpuHours) -> Self {
        Self { nano: quantity.0, unit: Unit::GpuHour }
    }
}
