//! What mapping rules do to past usage, as text: a dry run as a table, and what is unmapped as TOML to add.

use super::statement::paragraph;
use crate::table::{Column, plain, render};
use billing::mapping::{Catch, DryRun, RuleCatch, Unmapped};
use billing::money::Currency;
use billing::period::Period;
use billing::words;

/// Which rule catches what, and what would move.
pub fn dry_run(run: &DryRun, period: &Period, currency: &Currency) -> String {
    let mut out = String::new();
    let total = &run.total;
    paragraph(&mut out, &format!("Mapping rules over {}: {} held.", period.label(), quantity(total)));
    out.push_str(&rules(run));
    for rule in run.rules.iter().filter(|rule| rule.catch.is_empty()) {
        paragraph(&mut out, &nothing(rule));
    }
    if run.rules.is_empty() {
        paragraph(&mut out, "No rules are written: namespace, Slurm account or user names the tenant.");
    }
    for (tenant, catch) in &run.ended {
        paragraph(
            &mut out,
            &format!("Tenant {tenant} had ended: {} of it are unattributed.", quantity(catch)),
        );
    }
    if !run.no_rule.is_empty() {
        paragraph(
            &mut out,
            &format!(
                "{} are caught by no rule and unattributed: `slicemeter tenants unmapped` proposes rules.",
                quantity(&run.no_rule)
            ),
        );
    }
    moves(&mut out, run, currency);
    out
}

fn rules(run: &DryRun) -> String {
    let mut rows: Vec<Vec<String>> =
        vec![["", "match", "tenant", "workloads", "GPU-hours"].map(String::from).into()];
    let row = |number: String, what: String, tenant: String, catch: &Catch| {
        vec![number, plain(&what), tenant, catch.workloads().to_string(), words::gpu_hours(catch.held)]
    };
    for rule in &run.rules {
        rows.push(row(rule.number.to_string(), rule.what.clone(), rule.tenant.to_string(), &rule.catch));
        // Whose it is now, where that differs.
        for (tenant, catch) in rule.now.iter().filter(|(tenant, _)| **tenant != rule.tenant) {
            rows.push(row(String::new(), format!("now of {tenant}"), String::new(), catch));
        }
    }
    for (attribute, catch) in &run.named {
        rows.push(row(
            String::new(),
            format!("no rules; named by {attribute}"),
            "of that name".into(),
            catch,
        ));
    }
    rows.push(row(String::new(), "no rule".into(), "unattributed".into(), &run.no_rule));
    rows.push(row(String::new(), "no owner known".into(), "unattributed".into(), &run.no_owner));
    render(&[Column::Right, Column::Fill, Column::Left, Column::Right, Column::Right], &rows)
}

/// Why a rule catches nothing, as far as it shows.
fn nothing(rule: &RuleCatch) -> String {
    let by: Vec<String> = rule.taken_by.iter().map(usize::to_string).collect();
    match by[..] {
        [] => format!("Rule {} catches nothing: nothing in the period fits it while it holds.", rule.number),
        [_] => format!("Rule {} catches nothing: rule {} takes what fits it.", rule.number, by[0]),
        _ => format!("Rule {} catches nothing: rules {} take what fits it.", rule.number, by.join(", ")),
    }
}

fn moves(out: &mut String, run: &DryRun, currency: &Currency) {
    if run.moved.is_empty() {
        return;
    }
    paragraph(out, "Would move, from what holds now:");
    let code = currency.code();
    let mut rows: Vec<Vec<String>> =
        vec![["from", "to", "workloads", "GPU-hours", code].map(String::from).into()];
    for moved in &run.moved {
        let amount = currency.show(moved.amount(currency));
        rows.push(vec![
            moved.from.to_string(),
            moved.to.to_string(),
            moved.catch.workloads().to_string(),
            words::gpu_hours(moved.catch.held),
            if moved.unpriced { format!("{amount} and unpriced") } else { amount },
        ]);
    }
    out.push_str(&render(&[Column::Left, Column::Fill, Column::Right, Column::Right, Column::Right], &rows));
}

/// What no rule catches: text that is TOML, so that it can be added to tenants.toml as it is.
pub fn unmapped(found: &Unmapped, period: &Period) -> String {
    let mut out = String::new();
    let (sum, held) = (words::gpu_hours_short(found.sum()), words::gpu_hours_short(found.held));
    let label = period.label();
    if found.groups.is_empty() {
        comment(&mut out, &format!("{label}: nothing is unmapped; {held} GPU-hours were held."));
    } else {
        comment(
            &mut out,
            &format!(
                "{label}: no rule catches {sum} of {held} GPU-hours held. To map them, add this at the end of tenants.toml."
            ),
        );
    }
    if found.no_rules && !found.groups.is_empty() {
        comment(
            &mut out,
            "No rules are written yet. With the first, namespace, Slurm account and user no longer name tenants: write rules for those too.",
        );
    }
    for (number, group) in (1..).zip(&found.groups) {
        let clusters: Vec<&str> = group.clusters.iter().map(String::as_str).collect();
        out.push('\n');
        comment(
            &mut out,
            &format!(
                "{number}. {} {} {:?}: {}, cluster {}",
                group.kind,
                group.attribute,
                group.value,
                quantity(&group.catch),
                clusters.join(", ")
            ),
        );
        out.push_str(&group.rule);
    }
    apart(&mut out, found);
    out
}

fn apart(out: &mut String, found: &Unmapped) {
    let apart = &found.apart;
    let mut notes = Vec::new();
    if apart.ghost.0 != 0 {
        notes.push(format!(
            "ghost (busy, no owner to be found): {} GPU-hours",
            words::gpu_hours_short(apart.ghost)
        ));
    }
    if !apart.no_owner.is_empty() {
        notes.push(format!("no owner was reported: {}", quantity(&apart.no_owner)));
    }
    if !apart.nameless.is_empty() {
        notes.push(format!("an owner without any attribute: {}", quantity(&apart.nameless)));
    }
    if !notes.is_empty() {
        out.push('\n');
        comment(out, &format!("No rule can catch: {}.", notes.join("; ")));
    }
    for (tenant, catch) in &apart.ended {
        out.push('\n');
        comment(
            out,
            &format!("Tenant {tenant} had ended: {}. Map it to another tenant, or stop it.", quantity(catch)),
        );
    }
}

/// Lines that TOML doesn't read.
fn comment(out: &mut String, text: &str) {
    for line in crate::table::wrap(&plain(text), crate::table::WIDTH_MAX - 2) {
        out.push_str("# ");
        out.push_str(&line);
        out.push('\n');
    }
}

/// `400 GPU-hours of 12 workloads`.
fn quantity(catch: &Catch) -> String {
    let workloads = match catch.workloads() {
        1 => "1 workload".into(),
        n => format!("{n} workloads"),
    };
    format!("{} GPU-hours of {workloads}", words::gpu_hours_short(catch.held))
}
