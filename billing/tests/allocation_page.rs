//! docs/ALLOCATION.md is right: its entries are read, its day is posted, and its statements are what comes out.

mod posted;

use billing::charge::{Charge, Quantity};
use billing::money::Amount;
use billing::policy::{FailureReason, Policies};
use billing::post::credit::{Failure, WorkHeld, propose};
use billing::post::reconcile::{Difference, Invoice, reconcile};
use billing::post::{allocation::Allocate, fee, number, reservation, shared, tax};
use billing::tenant::TenantId;
use posted::{A100, H, H100, L40S, Month, Parts, amount, at, day, id, september, show, usd};
use schema::id::WorkloadId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../docs/ALLOCATION.md");

/// The text between the fence with that word and the next fence.
fn block(word: &str) -> &'static str {
    let start = PAGE.find(&format!("```{word}\n")).expect("the page has the block");
    let text = &PAGE[start + word.len() + 4..];
    &text[..text.find("```").expect("a fence ends it")]
}

/// The first of September: 24 h of each device.
fn first_day() -> Month {
    let mut month = Month::new(block("toml"));
    let reserved = [("vision", 10 * H), ("speech", 6 * H)];
    let shared = [("vision", 12 * H), ("infra", 4 * H)];
    for (node, device, model, held, rest) in [
        ("h-1", "GPU-h1", H100, &reserved[..], [5 * H, 0, 3 * H, 0]),
        ("h-2", "GPU-h2", H100, &shared, [8 * H, 0, 0, 0]),
        ("t-1", "GPU-a1", A100, &[("speech", 18 * H)], [4 * H, 0, 2 * H, 0]),
        ("t-1", "GPU-a2", A100, &[("vision", 24 * H)], [0; 4]),
        ("t-2", "GPU-a3", A100, &[("vision", 12 * H), ("speech", 12 * H)], [0; 4]),
        ("t-2", "GPU-l1", L40S, &[("speech", 20 * H)], [4 * H, 0, 0, 0]),
    ] {
        month.add(day(1), &Parts { node, device, model, held, rest });
    }
    month
}

/// What each tenant's usage lines post.
fn usage(month: &Month) -> BTreeMap<TenantId, Amount> {
    let mut sums = BTreeMap::new();
    for row in &month.held {
        let sum: &mut Amount = sums.entry(row.tenant.clone()).or_default();
        *sum = *sum + row.exact.expect("priced").round_half_even(&usd());
    }
    sums
}

/// Everything posted on the day, without tax.
fn charges(month: &Month) -> Vec<Charge> {
    let (ledger, period) = (month.ledger(), september());
    let settled = reservation::settle(&ledger, month.own_price()).expect("settles");
    let users: BTreeSet<TenantId> = month.held.iter().map(|row| row.tenant.clone()).collect();
    let mut pieces = settled.pieces.clone();
    pieces.extend(shared(&ledger));
    pieces.extend(fee::overhead_pieces(ledger.policies, &period));
    let allocate = Allocate { ledger, pieces: &pieces, reserved: &settled.reserved, statements: &users };
    let mut charges = settled.charges;
    charges.extend(fee::fees(ledger.policies, ledger.tenants, &users, &period, &usd()));
    charges.extend(fee::overheads(ledger.policies, &period, &usd()));
    charges.extend(allocate.charges().expect("allocates"));
    charges
}

fn lost_work(policies: &Policies) -> Vec<Charge> {
    let row = |hour: i64| WorkHeld {
        segment: Window::new(day(9).start_ms + hour * HOUR_MS, day(9).start_ms + (hour + 1) * HOUR_MS),
        device: "GPU-h2".into(),
        workload: WorkloadId(88_121),
        job: "job 88121".into(),
        tenant: id("vision"),
        natural_ms: HOUR_MS,
        quantity: Quantity::gpu_hours(NanoGpuHours(H)),
        unit_price: month_price(),
    };
    let failure = Failure {
        cluster: "c1".into(),
        node: "h-2".into(),
        device: "GPU-h2".into(),
        at_ms: at("2026-09-09T06:00"),
        reason: FailureReason::FatalXid,
        detail: "XID 79".into(),
        holders: [WorkloadId(88_121)].into(),
    };
    let rows: Vec<WorkHeld> = (0..6).map(row).collect();
    let proposed = propose(policies, &[failure], &rows, september().zone(), &usd());
    assert_eq!(proposed.len(), 1);
    proposed.into_iter().flat_map(|proposal| proposal.charges).collect()
}

fn month_price() -> Option<billing::money::UnitPrice> {
    Some(billing::money::UnitPrice(3_500_000))
}

fn statements() -> String {
    let month = first_day();
    let mut all = charges(&month);
    all.extend(lost_work(month.policies()));
    let usage = usage(&month);
    let mut text = String::new();
    for tenant in [id("vision"), id("speech"), id("infra"), TenantId::platform()] {
        let mut own: Vec<Charge> = all.iter().filter(|c| c.tenant == tenant).cloned().collect();
        let posted = usage.get(&tenant).copied().unwrap_or_default();
        let taxable = tax::Taxable { tenant: &tenant, usage: posted, charges: &own };
        let window = september().window();
        own.extend(tax::taxes(month.policies(), &month.tenants, &[taxable], window, &usd()));
        text.push_str(&format!("{tenant}\n"));
        if tenant != TenantId::platform() {
            let line = format!("{:<109} {:>9}", "    usage lines", usd().show(posted));
            text.push_str(&format!("{line}\n"));
        }
        for row in number(own) {
            text.push_str(&format!("{}\n", show(&row.number, &row.charge).trim_end()));
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_statements_of_the_page_are_what_its_entries_make_of_its_day() {
    let made = statements();
    let page = block("text").trim_end();
    assert_eq!(page, made.trim_end(), "the page should say:\n{made}");
}

#[test]
fn the_page_reconciles_to_the_invoice_that_it_names() {
    let costs: BTreeMap<TenantId, Amount> =
        [(id("vision"), amount("600.00")), (id("speech"), amount("370.00"))].into();
    let invoice = Invoice { name: "AC-2026-09".into(), total: amount("1000.00") };
    let rows = reconcile(&invoice, amount("970.00"), &Difference::ByCost(&costs), &usd());
    let show = |row: &Charge| format!("{} {}: {}", row.tenant, row.what, usd().show(row.amount));
    let made: Vec<String> = rows.iter().map(show).collect();
    assert_eq!(block("reconciliation").lines().collect::<Vec<_>>(), made);
}
