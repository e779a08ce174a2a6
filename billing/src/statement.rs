//! Statements: what each tenant held in a period, at what price, and the proof that it adds up to the hardware.
//!
//! A statement only arranges what rating made; sums are of posted amounts, and the difference to the exact sum stands
//! in a row of its own. The platform's statement takes what nobody held and what nobody could be found for, so that
//! all statements together are the fleet, in GPU-hours exactly.

use crate::charge::Charge;
use crate::closing::Waiver;
use crate::money::{Amount, Currency, Exact};
use crate::period::Period;
use crate::post::{Numbered, number as number_charges};
use crate::rating::{Line, PlatformLine, Rated};
use crate::tenant::{CostCentre, Tenant, TenantId, Tenants};
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

mod fleet;
mod proof;
mod went;
pub use fleet::{Fleet, FleetPart};
pub use proof::{ModelProof, ProofRow, by_model};
pub use went::WhereItWent;

/// Whether the period may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Data may still come.
    Provisional,
    /// Closed; corrections are rows in a later period.
    Final,
}

/// Whether tenants are shown their cost or charged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Shown: watermarked, no amount due.
    Showback,
    /// Charged.
    Chargeback,
}

/// A version of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Number given at load, from 1.
    pub number: u32,
    /// SHA-256 of the file, hexadecimal.
    pub hash: String,
}

/// What all statements of a period share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The period, with its zone.
    pub period: Period,
    /// Provisional or final.
    pub status: Status,
    /// Showback or chargeback.
    pub mode: Mode,
    /// Revision of the statements, from 1.
    pub revision: u32,
    /// Version of the price book.
    pub prices: Version,
    /// Version of the tenants and mapping rules.
    pub mapping: Version,
    /// Up to when data has been rolled up, Unix milliseconds; `None` before the first hour.
    pub data_through_ms: Option<i64>,
    /// How the period was closed; `None` while it isn't.
    pub closed: Option<Closed>,
}

/// How a period was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Name of the manifest: a hash of everything that went in.
    pub manifest: String,
    /// What stood in the way and was waived.
    pub waivers: Vec<Waiver>,
}

/// Sums of a statement's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Device time, unpriced lines included.
    pub quantity: NanoGpuHours,
    /// Sum of the lines' posted amounts.
    pub usage: Amount,
    /// Sum of all posted amounts: lines and charges.
    pub amount: Amount,
    /// Sum of the exact costs.
    pub exact: Exact,
    /// `amount` less `exact`: what rounding each line once has moved.
    pub rounding: Exact,
    /// Lines without a price.
    pub unpriced_lines: u32,
    /// Energy, millijoules; shown at price 0.
    pub energy_mj: i64,
}

/// A tenant's statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// `VIS-2026-09`.
    pub number: String,
    /// Whose, with its master data as they are at the end of the period.
    pub tenant: Tenant,
    /// Where the tenant stands in the tree at the end of the period: `/research/vision`.
    pub path: String,
    /// Its cost centres in the period, each from when it holds.
    pub cost_centres: Vec<CostCentre>,
    /// The tenant ends in this period: there is no statement after it.
    pub last: bool,
    /// Period, mode, versions.
    pub context: Context,
    /// Currency of all amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<Line>,
    /// What is posted besides usage, each kind numbered by itself.
    pub charges: Vec<Numbered>,
    /// Sums of both.
    pub totals: Totals,
    /// The posted total, by what was done with it.
    pub where_it_went: WhereItWent,
    /// Every device in which the tenant had a share, each adding up to its hours in service.
    pub proof: Vec<ProofRow>,
    /// The total in the tenant's own currency, where that is another.
    pub converted: Converted,
}

/// A total in the tenant's own currency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Converted {
    /// It is the service's.
    #[default]
    Same,
    /// No one rate holds over the period.
    Missing,
    /// Converted once, half-even.
    At {
        /// The tenant's currency.
        currency: Currency,
        /// The total in it.
        amount: Amount,
        /// The rate, its source and its date, in words.
        rate: String,
    },
}

/// How much of the devices that a tenant had a share in was seen by a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Device time not unobserved.
    pub observed: NanoGpuHours,
    /// Device time in service.
    pub capacity: NanoGpuHours,
}

/// What the platform keeps: capacity that nobody held, and use that nobody could be found for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformStatement {
    /// `PLATFORM-2026-09`.
    pub number: String,
    /// Period, mode, versions.
    pub context: Context,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Capacity that nobody held.
    pub lines: Vec<PlatformLine>,
    /// Lines of the reserved tenant `unattributed`.
    pub unattributed: Vec<Line>,
    /// What is posted to the platform besides: its sides of reservations and allocations, overheads, adjustments.
    pub charges: Vec<Numbered>,
    /// Sums of all.
    pub totals: Totals,
    /// Busy time with no owner to be found; it lies within the rows above or within another's held time, so it is
    /// shown and not added.
    pub ghost: NanoGpuHours,
}

/// A period's statements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// One for each tenant with usage, by id.
    pub tenants: Vec<Statement>,
    /// What the platform keeps.
    pub platform: PlatformStatement,
    /// The whole, and the check that the parts are it.
    pub fleet: Fleet,
}

/// Arranges what was rated, and what is charged besides, into statements.
pub fn prepare(
    context: &Context,
    rated: &Rated,
    charges: Vec<Charge>,
    devices: &[DeviceTotal],
    tenants: &Tenants,
) -> Bill {
    let table = proof::table(devices);
    let unattributed = TenantId::unattributed();
    let mut by_owner: BTreeMap<TenantId, Vec<Charge>> = BTreeMap::new();
    for charge in charges {
        // What is nobody's stands on the platform's statement.
        let platform = charge.tenant == unattributed;
        let owner = if platform { TenantId::platform() } else { charge.tenant.clone() };
        by_owner.entry(owner).or_default().push(charge);
    }
    let platform_charges = number_charges(by_owner.remove(&TenantId::platform()).unwrap_or_default());
    let own: BTreeSet<TenantId> = rated.tenants.keys().chain(by_owner.keys()).cloned().collect();
    let statements: Vec<Statement> =
        own.into_iter()
            .filter(|id| *id != unattributed)
            .map(|id| {
                let charges = number_charges(by_owner.remove(&id).unwrap_or_default());
                let (lines, held) = rated.tenants.get(&id).map_or_else(Default::default, |usage| {
                    (usage.lines.clone(), usage.held_by_device.clone())
                });
                let proof = proof::rows(&table, &held);
                statement_of(
                    context,
                    tenants.get(&id, context.period.window().end_ms - 1),
                    tenants,
                    rated,
                    (lines, charges, proof),
                )
            })
            .collect();
    let nobody = rated.tenants.get(&unattributed).map_or_else(Vec::new, |usage| usage.lines.clone());
    let platform = PlatformStatement {
        number: number(TenantId::PLATFORM_PREFIX, context),
        context: context.clone(),
        currency: rated.currency.clone(),
        totals: Totals::of(&nobody, &rated.platform, &platform_charges, &rated.currency),
        lines: rated.platform.clone(),
        unattributed: nobody,
        charges: platform_charges,
        ghost: devices.iter().map(|d| d.ghost).sum(),
    };
    let fleet = Fleet::of(&statements, &platform, devices);
    Bill { tenants: statements, platform, fleet }
}

/// One tenant's statement of its lines, charges and proof.
fn statement_of(
    context: &Context,
    tenant: Tenant,
    tenants: &Tenants,
    rated: &Rated,
    (lines, charges, proof): (Vec<Line>, Vec<Numbered>, Vec<ProofRow>),
) -> Statement {
    let window = context.period.window();
    let totals = Totals::of(&lines, &[], &charges, &rated.currency);
    Statement {
        number: number(&tenant.statement_prefix, context),
        path: tenants.path(&tenant.id, window.end_ms - 1),
        cost_centres: tenants.cost_centres(&tenant.id, window),
        last: tenant.ends_in(window),
        tenant,
        context: context.clone(),
        currency: rated.currency.clone(),
        where_it_went: WhereItWent::of(&lines, totals.usage),
        totals,
        proof,
        converted: Converted::Same,
        lines,
        charges,
    }
}

impl Bill {
    /// Marks every statement with how far its period has come.
    pub fn mark(&mut self, status: Status, closed: Option<Closed>) {
        let own = self.tenants.iter_mut().map(|statement| &mut statement.context);
        for context in own.chain([&mut self.platform.context]) {
            context.status = status;
            context.closed.clone_from(&closed);
        }
    }
}

impl Statement {
    /// How much of its devices' time was observed.
    pub fn coverage(&self) -> Coverage {
        let capacity = self.proof.iter().map(|row| row.capacity).sum::<NanoGpuHours>();
        let unobserved = self.proof.iter().map(|row| row.unobserved).sum::<NanoGpuHours>();
        Coverage { observed: capacity - unobserved, capacity }
    }

    /// The line of a number.
    pub fn line(&self, number: u32) -> Option<&Line> {
        self.lines.iter().find(|line| line.number == number)
    }
}

impl PlatformStatement {
    /// The statement of the reserved tenant `unattributed`, so that its lines can be opened as any other's. Its number is
    /// the platform's, its lines are [`PlatformStatement::unattributed`], and it has no proof of its own.
    pub fn unattributed_statement(&self) -> Statement {
        let totals = Totals::of(&self.unattributed, &[], &[], &self.currency);
        Statement {
            number: self.number.clone(),
            tenant: Tenant::undeclared(&TenantId::unattributed(), TenantId::PLATFORM_PREFIX.into()),
            cost_centres: Vec::new(),
            last: false,
            path: format!("/{}", TenantId::UNATTRIBUTED),
            context: self.context.clone(),
            currency: self.currency.clone(),
            where_it_went: WhereItWent::of(&self.unattributed, totals.usage),
            totals,
            proof: Vec::new(),
            converted: Converted::Same,
            lines: self.unattributed.clone(),
            charges: Vec::new(),
        }
    }
}

impl Coverage {
    /// In hundredths of a percent, rounded down, so that 10,000 means all of it.
    pub fn basis_points(&self) -> i64 {
        match self.capacity.0 {
            0 => 10_000,
            capacity => {
                let points = i128::from(self.observed.0) * 10_000 / i128::from(capacity);
                i64::try_from(points).expect("a part of a whole is at most 10,000 basis points")
            }
        }
    }
}

fn number(prefix: &str, context: &Context) -> String {
    format!("{prefix}-{}", context.period.label())
}

impl Totals {
    /// Sums lines of usage, lines of the platform, and charges.
    pub fn of(lines: &[Line], platform: &[PlatformLine], charges: &[Numbered], currency: &Currency) -> Self {
        let costs: Vec<(NanoGpuHours, Option<Exact>, Option<Amount>)> = lines
            .iter()
            .map(|l| (l.sums.held, l.exact, l.amount))
            .chain(platform.iter().map(|l| (l.quantity, l.exact, l.amount)))
            .collect();
        let charges = || charges.iter().map(|numbered| &numbered.charge);
        let usage: Amount = costs.iter().filter_map(|(_, _, amount)| *amount).sum();
        let amount = usage + charges().map(|c| c.amount).sum();
        let exact = costs.iter().filter_map(|(_, exact, _)| *exact).chain(charges().map(|c| c.exact)).sum();
        let unpriced = costs.iter().filter(|(_, exact, _)| exact.is_none()).count();
        Self {
            quantity: costs.iter().map(|(held, _, _)| *held).chain(charges().map(|c| c.held)).sum(),
            usage,
            amount,
            exact,
            rounding: amount.exact(currency) - exact,
            unpriced_lines: u32::try_from(unpriced).expect("fewer lines than 4 billion"),
            energy_mj: lines.iter().map(|l| l.sums.energy_mj).sum(),
        }
    }
}
