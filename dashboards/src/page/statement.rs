//! A tenant's statement as a page, to read and to print.

use super::{Heading, Links, STYLE, html};
use crate::line::{LineView, percent, unpriced};
use askama::Template;
use billing::rating::LineBasis;
use billing::statement::{ProofRow, Statement, by_model};
use billing::words;

#[derive(Template)]
#[template(path = "statement.html")]
struct StatementPage<'a> {
    style: &'static str,
    links: &'a Links,
    heading: Heading,
    number: &'a str,
    tenant: &'a str,
    path: &'a str,
    cost_centres: Option<String>,
    last: Option<&'static str>,
    currency: &'a str,
    lines: Vec<LinkedLine>,
    charges: Vec<LineView>,
    basis: &'static str,
    usage_gpu_hours: String,
    usage: String,
    total_word: &'static str,
    total_gpu_hours: String,
    total: String,
    rounding: String,
    exact: String,
    went: [(&'static str, String); 3],
    proof: Vec<ProofView>,
    models: Vec<ProofView>,
    coverage: String,
    energy_kwh: String,
    notes: Vec<String>,
    converted: Option<String>,
}

/// A line and where it is opened.
pub(super) struct LinkedLine {
    pub view: LineView,
    pub href: Option<String>,
}

/// A row of the proof: a device, or all devices of a model.
struct ProofView {
    name: String,
    model: String,
    parts: Vec<String>,
    capacity: String,
}

impl ProofView {
    fn of(name: String, row: &ProofRow) -> Self {
        Self {
            name,
            model: words::short_model(&row.model).into(),
            parts: row.parts().into_iter().map(|(_, part)| words::gpu_hours_short(part)).collect(),
            capacity: words::gpu_hours_short(row.capacity),
        }
    }
}

fn count(devices: usize) -> String {
    if devices == 1 { "1 device".into() } else { format!("{devices} devices") }
}

/// The page of a statement.
pub fn statement(statement: &Statement, links: &Links) -> String {
    let (totals, currency) = (&statement.totals, &statement.currency);
    let lines = statement.lines.iter().map(|line| {
        let view = LineView::of(line, currency);
        LinkedLine { href: links.line(&statement.number, &view.number), view }
    });
    let went = &statement.where_it_went;
    let models = by_model(&statement.proof);
    html(&StatementPage {
        style: STYLE,
        links,
        heading: Heading::of(&statement.context),
        number: &statement.number,
        tenant: &statement.tenant.name,
        path: &statement.path,
        cost_centres: words::cost_centres(&statement.cost_centres, statement.context.period.zone()),
        last: statement.last.then_some(words::LAST_STATEMENT),
        currency: currency.code(),
        lines: lines.collect(),
        charges: statement.charges.iter().map(|row| LineView::of_charge(row, currency)).collect(),
        basis: if statement.lines.iter().all(|l| l.key.basis == LineBasis::default()) {
            "held"
        } else {
            "held, where nothing else is said"
        },
        usage_gpu_hours: words::gpu_hours(statement.lines.iter().map(|l| l.sums.held).sum()),
        usage: currency.show(totals.usage),
        total_word: words::total(statement.context.mode),
        total_gpu_hours: words::gpu_hours(totals.quantity),
        total: currency.show(totals.amount),
        rounding: totals.rounding.to_string(),
        exact: totals.exact.to_string(),
        went: [
            ("busy", currency.show(went.busy)),
            ("held, not busy", currency.show(went.not_busy)),
            ("use unknown", currency.show(went.unknown)),
        ],
        proof: statement.proof.iter().map(|row| ProofView::of(row.device.clone(), row)).collect(),
        models: models.iter().map(|m| ProofView::of(count(m.devices), &m.sum)).collect(),
        coverage: percent(statement.coverage().basis_points()),
        energy_kwh: words::kwh(totals.energy_mj),
        converted: words::converted(statement),
        notes: unpriced(
            statement.lines.iter().map(|l| (format!("L{}", l.number), &l.key.price, l.key.model.as_str())),
        ),
    })
}
