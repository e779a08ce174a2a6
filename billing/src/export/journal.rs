//! A month's statements as journal entries for an ERP: each tenant's cost centre against the platform's, balanced to zero in
//! every document. The columns are the reader's choice.

use crate::charge::ChargeKind;
use crate::instant::local;
use crate::money::Amount;
use crate::statement::{Bill, Mode, Statement};
use crate::words;
use std::collections::BTreeMap;

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Last day of the period in its zone, `2026-10-31`.
    Date,
    /// Number of the statement.
    Document,
    /// Label of the period.
    Period,
    /// The tenant's id.
    Tenant,
    /// Account of this side.
    Account,
    /// Cost centre of this side.
    CostCentre,
    /// Amount, where this side is debited.
    Debit,
    /// Amount, where this side is credited.
    Credit,
    /// Amount with its sign: a debit is positive.
    Amount,
    /// ISO 4217 code.
    Currency,
    /// What it is for.
    Text,
}

impl Field {
    /// All fields by the names that templates use, in the order of a journal without a template.
    pub const ALL: [(&str, Field); 11] = [
        ("date", Self::Date),
        ("document", Self::Document),
        ("period", Self::Period),
        ("tenant", Self::Tenant),
        ("account", Self::Account),
        ("cost_centre", Self::CostCentre),
        ("debit", Self::Debit),
        ("credit", Self::Credit),
        ("amount", Self::Amount),
        ("currency", Self::Currency),
        ("text", Self::Text),
    ];
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// What it says.
    pub content: Content,
}

/// What the cells of a column hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Something of the entry.
    Field(Field),
    /// The same in every row, such as a company code.
    Fixed(String),
}

/// Which accounts are posted to, and in which columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The platform's cost centre: the other side of every entry.
    pub cost_centre: String,
    /// The platform's account.
    pub account: String,
    /// Account of tenants that name none of their own.
    pub tenant_account: String,
}

/// Why there is no journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Nothing is due.
    #[error("{0} is a showback: it charges nobody, so there is nothing to post")]
    Showback(String),
    /// An entry would have no cost centre.
    #[error(
        "no cost centre is known of {0}: add cost_centre to their [[tenant]] in tenants.toml, valid at the period's end"
    )]
    NoCostCentre(String),
}

/// One side of an entry.
struct Side<'a> {
    account: &'a str,
    cost_centre: &'a str,
    amount: Amount,
}

/// The journal of a bill: for each tenant a pair of rows for usage, and one for each kind of charge.
///
/// # Errors
/// A showback, or a tenant without a cost centre.
pub fn journal(bill: &Bill, template: &Template) -> Result<Vec<u8>, JournalError> {
    let context = &bill.platform.context;
    if context.mode == Mode::Showback {
        return Err(JournalError::Showback(context.period.label().into()));
    }
    let nameless: Vec<&str> = bill
        .tenants
        .iter()
        .filter(|s| s.totals.amount.0 != 0 && s.tenant.cost_centre.is_none())
        .map(|s| s.tenant.id.as_str())
        .collect();
    if !nameless.is_empty() {
        return Err(JournalError::NoCostCentre(nameless.join(", ")));
    }
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let mut write = |cells: Vec<String>| writer.write_record(cells).expect("memory takes every row");
    write(template.columns.iter().map(|column| column.name.clone()).collect());
    for statement in &bill.tenants {
        let account = statement.tenant.account.as_deref().unwrap_or(&template.tenant_account);
        let cost_centre = statement.tenant.cost_centre.as_deref().unwrap_or("");
        for (what, amount) in parts(statement) {
            let there =
                Side { account: &template.account, cost_centre: &template.cost_centre, amount: -amount };
            for side in [Side { account, cost_centre, amount }, there] {
                let cell = |column: &Column| match &column.content {
                    Content::Fixed(text) => super::csv::harmless(text),
                    Content::Field(field) => cell(*field, statement, &side, what),
                };
                write(template.columns.iter().map(cell).collect());
            }
        }
    }
    Ok(writer.into_inner().expect("memory is flushed"))
}

/// What a statement posts: its usage, then each kind of charge, without those of nothing.
fn parts(statement: &Statement) -> Vec<(&'static str, Amount)> {
    let mut kinds: BTreeMap<ChargeKind, Amount> = BTreeMap::new();
    for charge in statement.charges.iter().map(|numbered| &numbered.charge) {
        let sum = kinds.entry(charge.kind).or_default();
        *sum = *sum + charge.amount;
    }
    let usage = [("usage", statement.totals.usage)];
    let charges = kinds.into_iter().map(|(kind, amount)| (kind.word(), amount));
    usage.into_iter().chain(charges).filter(|(_, amount)| amount.0 != 0).collect()
}

fn cell(field: Field, statement: &Statement, side: &Side<'_>, what: &str) -> String {
    let period = &statement.context.period;
    let decimal = |amount: Amount| statement.currency.decimal(amount);
    match field {
        Field::Date => local(period.window().end_ms - 1, period.zone()).format("%Y-%m-%d").to_string(),
        Field::Document => statement.number.clone(),
        Field::Period => period.label().into(),
        Field::Tenant => statement.tenant.id.to_string(),
        Field::Account => super::csv::harmless(side.account),
        Field::CostCentre => super::csv::harmless(side.cost_centre),
        Field::Debit if side.amount.0 > 0 => decimal(side.amount),
        Field::Credit if side.amount.0 < 0 => decimal(-side.amount),
        Field::Debit | Field::Credit => String::new(),
        Field::Amount => decimal(side.amount),
        Field::Currency => statement.currency.code().into(),
        Field::Text => {
            let status = words::status(statement.context.status).to_lowercase();
            super::csv::harmless(&format!("GPU {what} {}, {status}", period.label()))
        }
    }
}
