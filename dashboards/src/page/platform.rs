//! The platform's own statement as a page: what nobody held, and use that nobody could be found for.

use super::statement::LinkedLine;
use super::{Heading, Links, STYLE, html};
use crate::line::{LineView, unpriced};
use askama::Template;
use billing::statement::PlatformStatement;
use billing::words;

#[derive(Template)]
#[template(path = "platform.html")]
struct PlatformPage<'a> {
    style: &'static str,
    links: &'a Links,
    heading: Heading,
    number: &'a str,
    currency: &'a str,
    lines: Vec<LineView>,
    unattributed: Vec<LinkedLine>,
    charges: Vec<LineView>,
    total_word: &'static str,
    total_gpu_hours: String,
    total: String,
    ghost: String,
    notes: Vec<String>,
}

/// The page of the platform's statement.
pub fn platform(statement: &PlatformStatement, links: &Links) -> String {
    let currency = &statement.currency;
    let of_platform = statement.lines.iter().map(|l| (format!("P{}", l.number), &l.price, l.model.as_str()));
    let of_nobody =
        statement.unattributed.iter().map(|l| (format!("L{}", l.number), &l.key.price, l.key.model.as_str()));
    let unattributed = statement.unattributed.iter().map(|line| {
        let why = words::unattributed(line.key.ended.as_ref(), statement.context.period.zone());
        let view = LineView::of(line, currency);
        let view = LineView { what: format!("{why}: {}", view.what), ..view };
        LinkedLine { href: links.line(&statement.number, &view.number), view }
    });
    html(&PlatformPage {
        style: STYLE,
        links,
        heading: Heading::of(&statement.context),
        number: &statement.number,
        currency: currency.code(),
        lines: statement.lines.iter().map(|line| LineView::of_platform(line, currency)).collect(),
        unattributed: unattributed.collect(),
        charges: statement.charges.iter().map(|row| LineView::of_charge(row, currency)).collect(),
        total_word: words::PLATFORM_TOTAL,
        total_gpu_hours: words::gpu_hours(statement.totals.quantity),
        total: currency.show(statement.totals.amount),
        ghost: words::gpu_hours_short(statement.ghost),
        notes: unpriced(of_platform.chain(of_nobody)),
    })
}
