//! What people see, byte for byte: `UPDATE_GOLDEN=1 cargo test -p slicemeter-dashboards` writes the files anew, and the
//! diff is the review.

#[path = "../../billing/tests/worked/mod.rs"]
mod worked;

use billing::explain::{Explained, HostMemory, Opening, SliceRow};
use billing::export::{csv, json};
use billing::price::PriceBook;
use billing::statement::{Bill, Mode, Statement};
use dashboards::page::{self, Links, MonthLink};
use dashboards::text;
use schema::window::Window;
use std::path::Path;
use worked::{bill, closed_bill, owners, prices, tenants, usage};

fn check(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).expect("the golden folder is writable");
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = want.lines().zip(got.lines()).position(|(a, b)| a != b);
    assert!(
        want == got,
        "{name} differs, first at line {:?}: if the new text is right, run with UPDATE_GOLDEN=1 and read the diff\n{got}",
        differs.map(|at| at + 1)
    );
}

fn vision(bill: &Bill) -> &Statement {
    bill.tenants.iter().find(|s| s.number == "VIS-2026-09").expect("vision has a statement")
}

fn speech(bill: &Bill) -> &Statement {
    bill.tenants.iter().find(|s| s.number == "speech-2026-09").expect("speech has a statement")
}

fn links() -> Links {
    Links {
        home: Some("/".into()),
        statements: Some("/statements/".into()),
        lines: Some("/lines/".into()),
        files: vec![("CSV".into(), "/api/v1/x.csv".into())],
    }
}

/// L1 of vision's statement, with two slices under it and one that is another's.
fn explained(bill: &Bill, prices: &PriceBook) -> Explained {
    let statement = vision(bill);
    let line = statement.line(1).expect("there is a first line");
    let usage = usage();
    let start_ms = usage[2].segment.start_ms;
    let slice = |at: i64, workload| SliceRow {
        window: Window::new(start_ms + at * 60_000, start_ms + (at + 1) * 60_000),
        device: worked::MIG.device.into(),
        workload,
        origin: format!("0000000000000000000000000000002a/7/{at}"),
        allocated_ms: Some(60_000),
        resident_ms: Some(59_000),
        busy_ms: None,
    };
    let (mine, other) = (usage[2].workload, usage[5].workload);
    let slices = [slice(1, mine), slice(0, mine), slice(0, other)];
    const GIB_HOUR: u128 = (1 << 30) * 3_600_000;
    let held = HostMemory { near_byte_ms: 12 * GIB_HOUR, far_byte_ms: 7 * GIB_HOUR / 2 };
    let host_memory = [(mine, held), (other, HostMemory::default())].into();
    let opening = Opening {
        usage: &usage,
        slices: &slices,
        host_memory: &host_memory,
        owners: &owners(),
        tenants: &tenants(),
        prices,
    };
    Explained::open(statement, line, opening)
}

#[test]
fn statements_as_text() {
    let charged = bill(Mode::Chargeback);
    check("statement.txt", &text::statement(vision(&charged)));
    check("statement-showback-unpriced.txt", &text::statement(speech(&bill(Mode::Showback))));
    check("platform.txt", &text::platform(&charged.platform));
    check("fleet.txt", &text::fleet(&charged));
}

#[test]
fn a_line_explained_as_text_and_page() {
    let bill = bill(Mode::Chargeback);
    let explained = explained(&bill, &prices());
    assert!(explained.adds_up());
    assert_eq!((explained.hours_count, explained.slices_count), (2, 2));
    check("explain.txt", &text::explain(&explained, vision(&bill), &tenants()));
    check("explain.html", &page::explain(&explained, vision(&bill), &tenants(), &links()));
}

#[test]
fn a_derived_price_is_shown_with_its_working_and_why_it_was_changed() {
    // What the A100 costs, as that of a bought device: 64,386.00 over 5 x 8,760 h at 70 %.
    let bought = "id = \"a100\"\nmodel = \"NVIDIA A100-SXM4-80GB\"\nprice = \"64386.00\"\nlife_years = 5\nexpected_utilisation_percent = 70\n";
    let listed = "[[price]]\nid = \"a100\"\nmodel = \"NVIDIA A100-SXM4-80GB\"\nper_gpu_hour = \"2.10\"\n";
    assert!(worked::PRICES.contains(listed));
    let why = "[[change]]\nentry = \"a100\"\nreason = \"invoice came in <late>\"\n";
    let text = worked::PRICES.replace(listed, &format!("[[purchase]]\n{bought}")) + why;
    let book = PriceBook::parse("prices.toml", &text, worked::period().zone()).expect("prices");
    let bill = bill(Mode::Chargeback);
    let explained = explained(&bill, &book);
    assert!(explained.adds_up(), "the price is the same");
    check("explain-derived.txt", &text::explain(&explained, vision(&bill), &tenants()));
    check("explain-derived.html", &page::explain(&explained, vision(&bill), &tenants(), &links()));
}

#[test]
fn statements_as_pages() {
    let charged = bill(Mode::Chargeback);
    check("statement.html", &page::statement(vision(&charged), &links()));
    check(
        "statement-showback-unpriced.html",
        &page::statement(speech(&bill(Mode::Showback)), &Links::none()),
    );
    check("platform.html", &page::platform(&charged.platform, &links()));
    let months = [
        MonthLink { label: "2026-08".into(), href: "/?period=2026-08".into(), current: false },
        MonthLink { label: "2026-09".into(), href: "/?period=2026-09".into(), current: true },
    ];
    check("overview.html", &page::overview(&months, Some(&charged), &links()));
    check("overview-empty.html", &page::overview(&[], None, &Links::none()));
    check("error.html", &page::error(404, "Not found", "Go back to the overview.", &links()));
}

#[test]
fn statements_as_files() {
    let bill = bill(Mode::Chargeback);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let all: Vec<&Statement> = bill.tenants.iter().collect();
    check("lines.csv", &text(csv::lines(&all)));
    check("platform.csv", &text(csv::platform(&bill.platform)));
    check("proof.csv", &text(csv::proof(&all)));
    check("statement.json", &text(json::statement(vision(&bill))));
    check("bill.json", &text(json::bill(&bill)));
}

#[test]
fn a_closed_month_carries_what_is_posted_besides_usage() {
    let bill = closed_bill();
    assert!(bill.fleet.adds_up(), "what is moved between statements leaves the fleet as it is");
    check("statement-closed.txt", &text::statement(vision(&bill)));
    check("statement-closed.html", &page::statement(vision(&bill), &links()));
    check("lines-closed.csv", &String::from_utf8(csv::lines(&[vision(&bill)])).expect("UTF-8"));
    check("platform-closed.txt", &text::platform(&bill.platform));
    check("fleet-closed.txt", &text::fleet(&bill));
    check("statement-closed.json", &String::from_utf8(json::statement(vision(&bill))).expect("UTF-8"));
}
