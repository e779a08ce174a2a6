//! FOCUS 1.4's other datasets: BillingPeriod says whether a month may still change, InvoiceDetail what each statement posts.

use super::charges;
use super::row::Category;
use super::value::{Kind, Value, cost, word};
use super::{Form, Issuer, Table, TableError};
use crate::charge::ChargeKind;
use crate::money::Amount;
use crate::post::Numbered;
use crate::rating::Line;
use crate::statement::{Bill, Context, Mode, Status};
use crate::tenant::TenantId;
use crate::words;
use std::io::Write;

use Kind::{Decimal, Text, Time};

const BILLING_PERIOD: &[(&str, Kind)] = &[
    ("BillingPeriodCreated", Time),
    ("BillingPeriodEnd", Time),
    ("BillingPeriodLastUpdated", Time),
    ("BillingPeriodStart", Time),
    ("BillingPeriodStatus", Text),
    ("InvoiceIssuerName", Text),
];

const INVOICE_DETAIL: &[(&str, Kind)] = &[
    ("BilledCost", Decimal),
    ("BillingAccountId", Text),
    ("BillingCurrency", Text),
    ("BillingPeriodEnd", Time),
    ("BillingPeriodStart", Time),
    ("ChargeCategory", Text),
    ("InvoiceDetailCreated", Time),
    ("InvoiceDetailDescription", Text),
    ("InvoiceDetailGrain", Text),
    ("InvoiceDetailId", Text),
    ("InvoiceDetailLastUpdated", Time),
    ("InvoiceId", Text),
    ("InvoiceIssueDate", Time),
    ("InvoiceIssueStatus", Text),
    ("InvoiceIssuerName", Text),
    ("PaymentDueDate", Time),
    ("PaymentTerms", Text),
    ("ReferenceInvoiceId", Text),
];

/// A month, and how far it has come.
#[derive(Debug, Clone, Copy)]
pub struct Month<'a> {
    /// Its bill.
    pub bill: &'a Bill,
    /// When it was closed, Unix milliseconds; `None` while it is open.
    pub closed_ms: Option<i64>,
}

impl Month<'_> {
    fn context(&self) -> &Context {
        &self.bill.platform.context
    }

    /// When what is known of it last changed.
    fn updated_ms(&self) -> i64 {
        let context = self.context();
        self.closed_ms.or(context.data_through_ms).unwrap_or(context.period.window().start_ms)
    }
}

/// The BillingPeriod dataset of some months.
///
/// # Errors
/// The file can't be written.
pub fn billing_periods<W: Write + Send>(
    months: &[Month<'_>],
    issuer: &Issuer,
    form: Form,
    to: W,
) -> Result<W, TableError> {
    let mut table = Table::begin(BILLING_PERIOD, form, to)?;
    for month in months {
        let context = month.context();
        let window = context.period.window();
        let status = if context.status == Status::Final { "Closed" } else { "Open" };
        table.row(vec![
            Value::Time(window.start_ms),
            Value::Time(window.end_ms),
            Value::Time(month.updated_ms()),
            Value::Time(window.start_ms),
            word(status),
            word(&issuer.name),
        ])?;
    }
    table.end()
}

/// The InvoiceDetail dataset of some months: what each statement posts, line by line. A showback has no invoices.
///
/// # Errors
/// The file can't be written.
pub fn invoice_details<W: Write + Send>(
    months: &[Month<'_>],
    issuer: &Issuer,
    form: Form,
    to: W,
) -> Result<W, TableError> {
    let mut table = Table::begin(INVOICE_DETAIL, form, to)?;
    for month in months.iter().filter(|month| month.context().mode == Mode::Chargeback) {
        for detail in details(month.bill) {
            table.row(cells(&detail, month, issuer))?;
        }
    }
    table.end()
}

/// A posted line.
struct Detail<'a> {
    invoice: &'a str,
    account: &'a str,
    number: String,
    category: &'static str,
    what: String,
    amount: Amount,
    /// The statement that it adjusts; its own where it adjusts none.
    adjusts: String,
}

fn details(bill: &Bill) -> Vec<Detail<'_>> {
    let platform = &bill.platform;
    let mut details = Vec::new();
    for statement in &bill.tenants {
        let (invoice, account) = (statement.number.as_str(), statement.tenant.id.as_str());
        details.extend(statement.lines.iter().map(|line| of_line(invoice, account, line)));
        details.extend(statement.charges.iter().map(|row| of_charge(invoice, account, row)));
    }
    let invoice = platform.number.as_str();
    details.extend(platform.lines.iter().map(|line| Detail {
        number: format!("P{}", line.number),
        what: format!("{} {}", words::short_model(&line.model), line.kind.word()),
        amount: line.amount.unwrap_or_default(),
        ..usage(invoice, TenantId::PLATFORM)
    }));
    details.extend(platform.unattributed.iter().map(|line| of_line(invoice, TenantId::UNATTRIBUTED, line)));
    details.extend(platform.charges.iter().map(|row| of_charge(invoice, TenantId::PLATFORM, row)));
    details
}

fn usage<'a>(invoice: &'a str, account: &'a str) -> Detail<'a> {
    Detail {
        invoice,
        account,
        number: String::new(),
        category: Category::Usage.word(),
        what: String::new(),
        amount: Amount(0),
        adjusts: invoice.into(),
    }
}

fn of_line<'a>(invoice: &'a str, account: &'a str, line: &Line) -> Detail<'a> {
    Detail {
        number: format!("L{}", line.number),
        what: words::line_what(&line.key),
        amount: line.amount.unwrap_or_default(),
        ..usage(invoice, account)
    }
}

fn of_charge<'a>(invoice: &'a str, account: &'a str, row: &Numbered) -> Detail<'a> {
    let charge = &row.charge;
    let adjusts = match (charge.kind, charge.reference.rsplit_once('-')) {
        (ChargeKind::Correction, Some((statement, _))) => statement.to_owned(),
        _ => invoice.into(),
    };
    Detail {
        number: row.number.clone(),
        category: charges::category(charge).0.word(),
        what: format!("{}: {}", charge.kind.word(), charge.what),
        amount: charge.amount,
        adjusts,
        ..usage(invoice, account)
    }
}

fn cells(detail: &Detail<'_>, month: &Month<'_>, issuer: &Issuer) -> Vec<Value> {
    let (context, currency) = (month.context(), &month.bill.platform.currency);
    let window = context.period.window();
    let issued = month.closed_ms.filter(|_| context.status == Status::Final);
    let created_ms = issued.unwrap_or_else(|| month.updated_ms());
    let grain = serde_json::json!({ "SubAccountId": detail.account, "x_StatementLine": detail.number });
    vec![
        cost(detail.amount.exact(currency)),
        word(&issuer.account_id),
        word(currency.code()),
        Value::Time(window.end_ms),
        Value::Time(window.start_ms),
        word(detail.category),
        Value::Time(created_ms),
        word(&detail.what),
        word(&grain.to_string()),
        word(&format!("{}-{}", detail.invoice, detail.number)),
        Value::Time(month.updated_ms()),
        word(detail.invoice),
        issued.map_or(Value::Null, Value::Time),
        word(if issued.is_some() { "Issued" } else { "Open" }),
        word(&issuer.name),
        Value::Null,
        word("Internal chargeback"),
        word(&detail.adjusts),
    ]
}
