//! An opened line as text: price, reason, owners with evidence, device-hours, slices.

use super::statement::{indented, paragraph};
use crate::table::{Column, plain, render};
use billing::charge::Unit;
use billing::explain::Explained;
use billing::instant::local;
use billing::statement::Statement;
use billing::tenant::Tenants;
use billing::words;
use chrono_tz::Tz;

/// Device-hours and slices that a text lists of each; the page and the API list more.
const TEXT_ROWS_MAX: usize = 48;

/// What a line is made of, down to the evidence.
pub fn explain(explained: &Explained, statement: &Statement, tenants: &Tenants) -> String {
    let (line, currency) = (&explained.line, &statement.currency);
    let mut out = String::new();
    let amount = line.amount.map_or_else(
        || "unpriced, no amount".to_string(),
        |amount| format!("{} {}", currency.code(), currency.show(amount)),
    );
    paragraph(&mut out, &format!("{}  {}  {amount}", explained.reference, words::line_what(&line.key)));
    paragraph(&mut out, &quantity(explained));
    paragraph(&mut out, &price(explained, statement));
    for step in price_steps(explained) {
        indented(&mut out, "  ", &step);
    }
    if let Some((exact, rounding)) = line.exact.zip(explained.rounding) {
        paragraph(&mut out, &format!("Rounding: exact {exact}, rounded once by {rounding}."));
    }
    paragraph(&mut out, "Whose, largest first:");
    for part in &explained.workloads {
        let kind = part.owner.as_ref().map_or("no owner known", |o| billing::tenant::kind_name(o.kind));
        let named = part.owner.iter().flat_map(|o| &o.attributes).map(|(k, v)| format!("{k}={v}"));
        let attributes: Vec<String> = named.collect();
        paragraph(
            &mut out,
            &format!("- {} GPU-hours: {kind} {}", words::gpu_hours_short(part.held), attributes.join(" ")),
        );
        indented(&mut out, "  ", &words::members(&part.members));
        if let Some(held) = part.host_memory {
            indented(&mut out, "  ", &format!("host memory: {}", words::host_memory(held)));
        }
        if let Some(owner) = &part.owner {
            indented(&mut out, "  ", &format!("evidence: {}", owner.evidence));
        }
        for by in &part.matched_by {
            indented(
                &mut out,
                "  ",
                &format!("because {}", words::matched_by(by, tenants, &statement.context.period)),
            );
        }
    }
    hours(&mut out, explained);
    slices(&mut out, explained);
    out
}

fn quantity(explained: &Explained) -> String {
    let line = &explained.line;
    format!(
        "Quantity: {} {} x share {} = {} GPU-hours ({} busy, {} held, not busy, {} use unknown); {}% observed; {}.",
        words::hours(line.sums.natural_ms),
        words::natural_unit(line.key.sharing),
        line.key.share,
        line.sums.held,
        words::gpu_hours_short(line.busy_held()),
        words::gpu_hours_short(line.not_busy_held()),
        words::gpu_hours_short(line.unknown_held()),
        line.observed_percent(),
        words::line_quality(&line.key),
    )
}

/// The price with its validity, or what to do about there being none.
pub(crate) fn price(explained: &Explained, statement: &Statement) -> String {
    let zone = statement.context.period.zone();
    let date = |at_ms| local(at_ms, zone).format("%Y-%m-%d %H:%M").to_string();
    let key = &explained.line.key;
    let Some(rate) = key.price.rate() else {
        return format!("Price: {}.", words::unpriced_remedy(&key.price, &key.model).unwrap_or_default());
    };
    let list = if rate.list == rate.price { String::new() } else { format!(" (list {})", rate.list) };
    let unit = if rate.unit == Unit::GpuHour { "GPU-hour" } else { rate.unit.word() };
    let entry = explained.price.as_ref().map_or_else(
        // What a reservation costs stands in no price of the book.
        || format!("reservation {:?}", rate.entry),
        |entry| format!("entry {:?} for {:?}", entry.id, entry.model),
    );
    let until = explained.price.as_ref().and_then(|entry| entry.span.to_ms);
    format!(
        "Price: {} {}{list} a {unit}, {entry}, from {} {}, prices v{}.",
        statement.currency.code(),
        rate.price,
        date(rate.from_ms),
        until.map_or_else(|| "until further notice".into(), |to_ms| format!("to {}", date(to_ms))),
        statement.context.prices.number,
    )
}

/// How the price comes about, and why it isn't what it was once.
pub(crate) fn price_steps(explained: &Explained) -> Vec<String> {
    let changed = explained.changes.iter().map(|why| format!("changed for the past: {why}"));
    explained.derivation.iter().cloned().chain(changed).collect()
}

/// The sum of the device-hours against the line.
pub(crate) fn sum_of_hours(explained: &Explained) -> String {
    let sum = explained.hours_held;
    if explained.adds_up() {
        format!("{} device-hours sum to the line's {sum} GPU-hours exactly.", explained.hours_count)
    } else {
        format!(
            "{} device-hours sum to {sum} GPU-hours and the line has {}: its hours were closed again since; make the statement again.",
            explained.hours_count, explained.line.sums.held
        )
    }
}

fn utc(at_ms: i64) -> String {
    local(at_ms, Tz::UTC).format("%Y-%m-%d %H:%M:%S").to_string()
}

fn hours(out: &mut String, explained: &Explained) {
    paragraph(out, &sum_of_hours(explained));
    if explained.hours.is_empty() {
        return;
    }
    let mut rows: Vec<Vec<String>> =
        vec![["from (UTC)", "to (UTC)", "device", "held", "busy"].map(String::from).into()];
    for hour in explained.hours.iter().take(TEXT_ROWS_MAX) {
        rows.push(vec![
            utc(hour.segment.start_ms),
            utc(hour.segment.end_ms),
            plain(&hour.device),
            hour.held.to_string(),
            hour.busy.to_string(),
        ]);
    }
    out.push_str(&render(&[Column::Left, Column::Left, Column::Fill, Column::Right, Column::Right], &rows));
    more(out, explained.hours_count);
}

fn slices(out: &mut String, explained: &Explained) {
    paragraph(out, &format!("{} slices lie under them.", explained.slices_count));
    if explained.slices.is_empty() {
        return;
    }
    let ms = |value: Option<i64>| value.map_or_else(|| "unknown".to_string(), |ms| format!("{ms} ms"));
    let mut rows: Vec<Vec<String>> =
        vec![["from (UTC)", "device", "allocated", "resident", "busy", "made at"].map(String::from).into()];
    for slice in explained.slices.iter().take(TEXT_ROWS_MAX) {
        rows.push(vec![
            utc(slice.window.start_ms),
            plain(&slice.device),
            slice.allocated_ms.map_or_else(|| "not asked".to_string(), |ms| format!("{ms} ms")),
            ms(slice.resident_ms),
            ms(slice.busy_ms),
            plain(&slice.origin),
        ]);
    }
    let columns = [Column::Left, Column::Wrap(24), Column::Right, Column::Right, Column::Right, Column::Fill];
    out.push_str(&render(&columns, &rows));
    more(out, explained.slices_count);
}

fn more(out: &mut String, count: usize) {
    if count > TEXT_ROWS_MAX {
        paragraph(out, &format!("... {} more, listed by the API.", count - TEXT_ROWS_MAX));
    }
}
