//! Statements: what each tenant held in a period, at what price, and the proof that it adds up to the hardware.
//!
//! A statement only arranges what rating made; sums are of posted amounts, and the difference to the exact sum stands
//! in a row of its own. The platform's statement takes what nobody held and what nobody could be found for, so that
//! all statements together are the fleet, in GPU-hours exactly.

use crate::money::{Amount, Currency, Exact};
use crate::period::Period;
use crate::rating::{Line, PlatformLine, Rated};
use crate::tenant::{CostCentre, Tenant, TenantId, Tenants};
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;

mod fleet;
mod proof;
mod went;
pub use fleet::{Fleet, FleetPart};
pub use proof::{ModelProof, ProofRow, by_model};
pub use went::WhereItWent;

/// Whether the period may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Data may still come.
    Provisional,
    /// Closed; corrections are rows in a later period.
    Final,
}

/// Whether tenants are shown their cost or charged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Shown: watermarked, no amount due.
    Showback,
    /// Charged.
    Chargeback,
}

/// A version of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Number given at load, from 1.
    pub number: u32,
    /// SHA-256 of the file, hexadecimal.
    pub hash: String,
}

/// What all statements of a period share.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// Sums of a statement's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Device time, unpriced lines included.
    pub quantity: NanoGpuHours,
    /// Sum of the posted amounts.
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Their sums.
    pub totals: Totals,
    /// The posted total, by what was done with it.
    pub where_it_went: WhereItWent,
    /// Every device in which the tenant had a share, each adding up to its hours in service.
    pub proof: Vec<ProofRow>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Sums of both.
    pub totals: Totals,
    /// Busy time with no owner to be found; it lies within the rows above or within another's held time, so it is
    /// shown and not added.
    pub ghost: NanoGpuHours,
}

/// A period's statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// One for each tenant with usage, by id.
    pub tenants: Vec<Statement>,
    /// What the platform keeps.
    pub platform: PlatformStatement,
    /// The whole, and the check that the parts are it.
    pub fleet: Fleet,
}

/// Arranges what was rated into statements.
pub fn prepare(context: &Context, rated: &Rated, devices: &[DeviceTotal], tenants: &Tenants) -> Bill {
    let table = proof::table(devices);
    let unattributed = TenantId::unattributed();
    let window = context.period.window();
    let statements: Vec<Statement> = rated
        .tenants
        .values()
        .filter(|usage| usage.tenant != unattributed)
        .map(|usage| {
            let tenant = tenants.get(&usage.tenant, window.end_ms - 1);
            let totals = Totals::of(&usage.lines, &[], &rated.currency);
            Statement {
                number: number(&tenant.statement_prefix, context),
                path: tenants.path(&tenant.id, window.end_ms - 1),
                cost_centres: tenants.cost_centres(&tenant.id, window),
                last: tenant.ends_in(window),
                tenant,
                context: context.clone(),
                currency: rated.currency.clone(),
                where_it_went: WhereItWent::of(&usage.lines, totals.amount),
                totals,
                proof: proof::rows(&table, &usage.held_by_device),
                lines: usage.lines.clone(),
            }
        })
        .collect();
    let nobody = rated.tenants.get(&unattributed).map_or_else(Vec::new, |usage| usage.lines.clone());
    let platform = PlatformStatement {
        number: number(TenantId::PLATFORM_PREFIX, context),
        context: context.clone(),
        currency: rated.currency.clone(),
        totals: Totals::of(&nobody, &rated.platform, &rated.currency),
        lines: rated.platform.clone(),
        unattributed: nobody,
        ghost: devices.iter().map(|d| d.ghost).sum(),
    };
    let fleet = Fleet::of(&statements, &platform, devices);
    Bill { tenants: statements, platform, fleet }
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
        let totals = Totals::of(&self.unattributed, &[], &self.currency);
        Statement {
            number: self.number.clone(),
            tenant: Tenant::undeclared(&TenantId::unattributed(), TenantId::PLATFORM_PREFIX.into()),
            cost_centres: Vec::new(),
            last: false,
            path: format!("/{}", TenantId::UNATTRIBUTED),
            context: self.context.clone(),
            currency: self.currency.clone(),
            where_it_went: WhereItWent::of(&self.unattributed, totals.amount),
            totals,
            proof: Vec::new(),
            lines: self.unattributed.clone(),
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
    /// Sums lines of usage and of the platform.
    pub fn of(lines: &[Line], platform: &[PlatformLine], currency: &Currency) -> Self {
        let costs: Vec<(NanoGpuHours, Option<Exact>, Option<Amount>)> = lines
            .iter()
            .map(|l| (l.sums.held, l.exact, l.amount))
            .chain(platform.iter().map(|l| (l.quantity, l.exact, l.amount)))
            .collect();
        let amount: Amount = costs.iter().filter_map(|(_, _, amount)| *amount).sum();
        let exact: Exact = costs.iter().filter_map(|(_, exact, _)| *exact).sum();
        let unpriced = costs.iter().filter(|(_, exact, _)| exact.is_none()).count();
        Self {
            quantity: costs.iter().map(|(quantity, _, _)| *quantity).sum(),
            amount,
            exact,
            rounding: amount.exact(currency) - exact,
            unpriced_lines: u32::try_from(unpriced).expect("fewer lines than 4 billion"),
            energy_mj: lines.iter().map(|l| l.sums.energy_mj).sum(),
        }
    }
}
