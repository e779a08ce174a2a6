//! FOCUS CostAndUsage of a month's bill, as an internal provider: a row for each device, day and line, and for each charge.
//!
//! - The sum of `BilledCost` is the ledger's total: every row has its exact cost, and what rounding a line moved is a row of its
//!   own; rows of one `InvoiceDetailId` sum to the posted line.
//! - A cost that a policy takes from one statement to others is a split: a row for each taker, with its ratio, and what was
//!   taken as the remainder where it stood. Both keep the account where it stood; `x_TenantId` is whose it is.
//! - Correction rows bear the period of what they correct and stand in the month that they were posted to.
//!
//! Rules: FOCUS 1.4 and 1.2, normative models of the FinOps Foundation.

use crate::bill::DevicePiece;
use crate::charge::ChargeKind;
use crate::policy::Policies;
use crate::split::split;
use crate::statement::{Bill, PlatformStatement, Statement};
use crate::tenant::TenantId;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

mod charges;
mod columns;
mod datasets;
mod row;
mod table;
mod usage;
mod value;
pub use datasets::{Month, billing_periods, invoice_details};
pub use table::{Form, Table, TableError};
pub use value::{Kind, Value};

use row::{Account, Head, Row};

/// A version of FOCUS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.2, May 2025.
    V1_2,
    /// 1.4, June 2026.
    #[default]
    V1_4,
}

/// Who runs the GPUs and issues the statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Name of the organisation or its platform team.
    pub name: String,
    /// Stable id of the account that all statements are of.
    pub account_id: String,
    /// Where the hardware stands, where it is in one place.
    pub region: Option<String>,
}

/// Why a bill can't be exported.
#[derive(Debug, thiserror::Error)]
pub enum FocusError {
    /// A line isn't what its devices add up to.
    #[error(
        "line {line} holds {held} GPU-hours and its devices {pieces}: nothing is exported; rate the period again (`slicemeter period check`) and report the defect"
    )]
    Pieces {
        /// `VIS-2026-09-L3`.
        line: String,
        /// On the statement.
        held: NanoGpuHours,
        /// Sum of devices and days.
        pieces: NanoGpuHours,
    },
    /// The file can't be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// How policies split costs over a bill.
#[derive(Default)]
struct Splits {
    /// By the policy's id.
    methods: BTreeMap<String, &'static str>,
    /// Each taker's part in 1e-9, by policy and words.
    takers: BTreeMap<(String, String), Vec<(TenantId, i64)>>,
}

/// Writes months of bills, statement after statement.
pub struct Export<'a, W: std::io::Write + Send> {
    issuer: &'a Issuer,
    version: Version,
    splits: Splits,
    table: Table<W>,
}

impl<'a, W: std::io::Write + Send> Export<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn begin(issuer: &'a Issuer, version: Version, form: Form, to: W) -> Result<Self, FocusError> {
        let columns: Vec<_> = columns::of(version).iter().map(|c| (c.name, c.kind)).collect();
        let table = Table::begin(&columns, form, to)?;
        Ok(Self { issuer, version, splits: Splits::default(), table })
    }

    /// Goes on with a month's bill; `policies` are those that it was made with.
    pub fn month(&mut self, bill: &Bill, policies: &Policies) {
        self.splits = Splits::of(bill, policies);
    }

    /// A tenant's rows; `pieces` are the devices and days of its lines.
    ///
    /// # Errors
    /// The pieces aren't the lines', or the file can't be written.
    pub fn statement(&mut self, statement: &Statement, pieces: &[DevicePiece]) -> Result<(), FocusError> {
        let head = Head {
            issuer: self.issuer,
            context: &statement.context,
            currency: &statement.currency,
            number: &statement.number,
            path: &statement.path,
            cost_centre: statement.tenant.cost_centre.as_deref(),
        };
        let account = Account { id: statement.tenant.id.clone(), name: statement.tenant.name.clone() };
        let mut rows = usage::rows(&head, &account, &statement.lines, pieces)?;
        rows.extend(charges::rows(&head, &account, &statement.charges, &self.splits));
        put(&mut self.table, self.version, &rows)
    }

    /// What nobody held, what nobody could be found for, and the platform's charges; `pieces` are those of the reserved tenant
    /// `unattributed`.
    ///
    /// # Errors
    /// As [`Export::statement`].
    pub fn platform(
        &mut self,
        platform: &PlatformStatement,
        pieces: &[DevicePiece],
    ) -> Result<(), FocusError> {
        let head = Head {
            issuer: self.issuer,
            context: &platform.context,
            currency: &platform.currency,
            number: &platform.number,
            path: "/platform",
            cost_centre: None,
        };
        let account = |id: TenantId| Account { name: id.to_string(), id };
        let own = account(TenantId::platform());
        let mut rows: Vec<Row<'_>> =
            platform.lines.iter().flat_map(|line| usage::platform_rows(&head, &own, line)).collect();
        rows.extend(usage::rows(&head, &account(TenantId::unattributed()), &platform.unattributed, pieces)?);
        rows.extend(charges::rows(&head, &own, &platform.charges, &self.splits));
        put(&mut self.table, self.version, &rows)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It can't be written.
    pub fn end(self) -> Result<W, FocusError> {
        Ok(self.table.end()?)
    }
}

fn put<W: std::io::Write + Send>(
    table: &mut Table<W>,
    version: Version,
    rows: &[Row<'_>],
) -> Result<(), FocusError> {
    let columns = columns::of(version);
    for row in rows {
        table.row(columns.iter().map(|column| (column.value)(row)).collect())?;
    }
    Ok(())
}

impl Splits {
    fn of(bill: &Bill, policies: &Policies) -> Self {
        let methods =
            policies.allocations.iter().map(|policy| (policy.id.clone(), policy.taker.method_id())).collect();
        let mut amounts: BTreeMap<(String, String), Vec<(TenantId, u128)>> = BTreeMap::new();
        let charges = bill.tenants.iter().flat_map(|s| &s.charges).map(|numbered| &numbered.charge);
        for charge in charges.filter(|c| c.kind == ChargeKind::Allocation && c.amount.0 != 0) {
            let taken = (charge.tenant.clone(), u128::from(charge.amount.0.unsigned_abs()));
            amounts.entry((charge.reference.clone(), charge.what.clone())).or_default().push(taken);
        }
        let ratios = |takers: Vec<(TenantId, u128)>| {
            let weights: Vec<u128> = takers.iter().map(|(_, amount)| *amount).collect();
            takers.into_iter().map(|(tenant, _)| tenant).zip(split(1_000_000_000, &weights)).collect()
        };
        Self { methods, takers: amounts.into_iter().map(|(key, takers)| (key, ratios(takers))).collect() }
    }
}
