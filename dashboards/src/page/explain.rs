//! An opened line as a page: price, reason, owners with evidence, device-hours, slices.

use super::{Heading, Links, STYLE, html};
use crate::line::LineView;
use crate::text::{price_sentence, price_steps, sum_of_hours};
use askama::Template;
use billing::explain::Explained;
use billing::instant::local;
use billing::statement::Statement;
use billing::tenant::{Tenants, kind_name};
use billing::words;
use chrono_tz::Tz;

#[derive(Template)]
#[template(path = "explain.html")]
struct ExplainPage<'a> {
    style: &'static str,
    links: &'a Links,
    heading: Heading,
    reference: &'a str,
    statement_number: &'a str,
    statement_href: Option<String>,
    line: LineView,
    currency: &'a str,
    price: String,
    price_steps: Vec<String>,
    exact: Option<String>,
    rounding: Option<String>,
    busy: String,
    not_busy: String,
    unknown: String,
    workloads: Vec<WorkloadView>,
    hours: Vec<[String; 7]>,
    hours_count: usize,
    sum_of_hours: String,
    adds_up: bool,
    slices: Vec<[String; 7]>,
    slices_count: usize,
}

struct WorkloadView {
    held: String,
    kind: &'static str,
    attributes: Vec<(String, String)>,
    members: String,
    host_memory: Option<String>,
    evidence: String,
    because: Vec<String>,
}

/// The page of an opened line.
pub fn explain(explained: &Explained, statement: &Statement, tenants: &Tenants, links: &Links) -> String {
    let line = &explained.line;
    html(&ExplainPage {
        style: STYLE,
        links,
        heading: Heading::of(&statement.context),
        reference: &explained.reference,
        statement_number: &statement.number,
        statement_href: links.statement(&statement.number),
        line: LineView::of(line, &statement.currency),
        currency: statement.currency.code(),
        price: price_sentence(explained, statement),
        price_steps: price_steps(explained),
        exact: line.exact.map(|e| e.to_string()),
        rounding: explained.rounding.map(|r| r.to_string()),
        busy: words::gpu_hours_short(line.busy_held()),
        not_busy: words::gpu_hours_short(line.not_busy_held()),
        unknown: words::gpu_hours_short(line.unknown_held()),
        workloads: workloads(explained, statement, tenants),
        hours: hours(explained),
        hours_count: explained.hours_count,
        sum_of_hours: sum_of_hours(explained),
        adds_up: explained.adds_up(),
        slices: slices(explained),
        slices_count: explained.slices_count,
    })
}

fn workloads(explained: &Explained, statement: &Statement, tenants: &Tenants) -> Vec<WorkloadView> {
    let period = &statement.context.period;
    let view = |part: &billing::explain::WorkloadPart| WorkloadView {
        held: words::gpu_hours_short(part.held),
        kind: part.owner.as_ref().map_or("no owner known", |o| kind_name(o.kind)),
        attributes: part.owner.iter().flat_map(|o| o.attributes.clone()).collect(),
        members: words::members(&part.members),
        host_memory: part.host_memory.map(words::host_memory),
        evidence: part.owner.as_ref().map_or_else(String::new, |o| o.evidence.clone()),
        because: part.matched_by.iter().map(|by| words::matched_by(by, tenants, period)).collect(),
    };
    explained.workloads.iter().map(view).collect()
}

fn utc(at_ms: i64) -> String {
    local(at_ms, Tz::UTC).format("%Y-%m-%d %H:%M:%S").to_string()
}

fn hours(explained: &Explained) -> Vec<[String; 7]> {
    let row = |h: &billing::explain::DeviceHour| {
        [
            utc(h.segment.start_ms),
            utc(h.segment.end_ms),
            h.node.clone(),
            h.device.clone(),
            h.held.to_string(),
            h.busy.to_string(),
            h.exact.map_or_else(|| crate::line::NO_AMOUNT.into(), |e| e.to_string()),
        ]
    };
    explained.hours.iter().map(row).collect()
}

fn slices(explained: &Explained) -> Vec<[String; 7]> {
    let ms = |value: Option<i64>, without: &str| value.map_or_else(|| without.into(), |ms| ms.to_string());
    let row = |s: &billing::explain::SliceRow| {
        [
            utc(s.window.start_ms),
            utc(s.window.end_ms),
            s.device.clone(),
            ms(s.allocated_ms, "not asked"),
            ms(s.resident_ms, "unknown"),
            ms(s.busy_ms, "unknown"),
            s.origin.clone(),
        ]
    };
    explained.slices.iter().map(row).collect()
}
