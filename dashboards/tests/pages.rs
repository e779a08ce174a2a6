//! What every text and page keeps: width, escaping, no outside resources, tables that can be read aloud.

#[path = "../../billing/tests/worked/mod.rs"]
mod worked;

use billing::export::csv;
use billing::statement::{Mode, Statement};
use dashboards::page::{self, Links};
use dashboards::text;
use worked::bill;

fn statements() -> Vec<Statement> {
    bill(Mode::Showback).tenants
}

#[test]
fn no_text_is_wider_than_110_columns_whatever_the_names() {
    let mut bill = bill(Mode::Chargeback);
    for statement in &mut bill.tenants {
        statement.tenant.name = "x".repeat(300);
        for line in &mut statement.lines {
            line.key.model = "NVIDIA Very Long Name Of A Board, Liquid Cooled, Export Edition 141GB".into();
        }
        for row in &mut statement.proof {
            row.device = format!("GPU-{}", "0123456789abcdef".repeat(9));
        }
    }
    let texts = bill.tenants.iter().map(text::statement);
    for text in texts.chain([text::platform(&bill.platform), text::fleet(&bill)]) {
        for line in text.lines() {
            assert!(line.chars().count() <= 110, "{} wide: {line}", line.chars().count());
        }
    }
}

#[test]
fn more_than_twenty_devices_are_grouped_by_model_in_text_and_listed_on_the_page() {
    let mut statement = statements().remove(1);
    let row = statement.proof[0].clone();
    statement.proof = (0..21)
        .map(|at| billing::statement::ProofRow { device: format!("GPU-{at:02}"), ..row.clone() })
        .collect();
    let text = text::statement(&statement);
    assert!(text.contains("21 x A100-SXM4-80GB") && !text.contains("GPU-07"), "{text}");
    assert!(page::statement(&statement, &Links::none()).contains("GPU-07"));
    let proof = String::from_utf8(csv::proof(&[&statement])).expect("UTF-8");
    assert_eq!(proof.lines().count(), 22);
}

#[test]
fn names_from_the_world_are_text_and_never_markup_or_control() {
    let mut statement = statements().remove(1);
    statement.tenant.name = "<script>alert(1)</script>\u{1b}[2J\nSTATEMENT FAKE".into();
    let html = page::statement(&statement, &Links::none());
    assert!(!html.contains("<script") && html.contains("&#60;script&#62;"), "{html}");
    let text = text::statement(&statement);
    assert!(!text.contains('\u{1b}') && !text.lines().any(|l| l.starts_with("STATEMENT FAKE")), "{text}");
}

#[test]
fn pages_need_nothing_from_outside_and_name_their_tables() {
    let bill = bill(Mode::Showback);
    let links = Links::none();
    let pages = [
        page::statement(&bill.tenants[0], &links),
        page::platform(&bill.platform, &links),
        page::overview(&[], Some(&bill), &links),
        page::overview(&[], None, &links),
        page::error(503, "No data", "Wait.", &links),
    ];
    for html in pages {
        for outside in ["http:", "https:", "src=", "<script", "<link", "@import", "url("] {
            assert!(!html.contains(outside), "{outside} in {html}");
        }
        assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
        assert_eq!(html.matches("<table").count(), html.matches("<caption>").count());
        assert_eq!(
            html.matches("<th").count() - html.matches("<thead").count(),
            html.matches("<th scope=").count()
        );
        assert!(
            html.contains(&format!("<style>{}</style>", page::STYLE)),
            "a hash of STYLE admits the style sheet"
        );
        assert_eq!(html.matches("<h1").count(), 1);
        assert!(!html.contains("<a "), "a page without links has none");
    }
}

#[test]
fn a_showback_is_marked_and_has_nothing_due() {
    let (shown, charged) = (bill(Mode::Showback), bill(Mode::Chargeback));
    let shown = [text::statement(&shown.tenants[1]), page::statement(&shown.tenants[1], &Links::none())];
    let charged =
        [text::statement(&charged.tenants[1]), page::statement(&charged.tenants[1], &Links::none())];
    for text in shown {
        assert!(
            text.contains("SHOWBACK - not an invoice") && text.contains("TOTAL") && !text.contains("DUE"),
            "{text}"
        );
    }
    for text in charged {
        assert!(!text.contains("SHOWBACK") && text.contains("DUE"), "{text}");
    }
}

/// Cells of a row without line breaks, after RFC 4180.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in row.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("there is a first cell").push(c),
        }
    }
    cells
}

#[test]
fn lines_csv_sums_to_the_statements() {
    let statements = statements();
    let all: Vec<&Statement> = statements.iter().collect();
    let text = String::from_utf8(csv::lines(&all)).expect("UTF-8");
    let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    let amount = header.iter().position(|c| *c == "amount").expect("an amount column");
    let cents: i64 = text
        .lines()
        .skip(1)
        .map(|line| cells(line).swap_remove(amount).replace('.', ""))
        .filter(|cell| !cell.is_empty())
        .map(|cell| cell.parse::<i64>().expect("an amount"))
        .sum();
    assert_eq!(cents, statements.iter().map(|s| s.totals.amount.0).sum::<i64>());
    assert!(!text.contains(",=Speech"), "a name that looks like a formula stands bare");
}

#[test]
fn a_statement_says_in_which_zone_its_days_are_and_which_instants_that_is() {
    let mut statement = statements().remove(1);
    for (zone, bounds) in [
        ("America/Bogota", "2026-03-01T05:00Z..2026-04-01T05:00Z, 744 h"),
        ("Europe/Berlin", "2026-02-28T23:00Z..2026-03-31T22:00Z, 743 h"),
        ("Asia/Kathmandu", "2026-02-28T18:15Z..2026-03-31T18:15Z, 744 h"),
    ] {
        let zone = billing::period::parse_zone(zone).expect("a zone");
        statement.context.period = billing::period::Period::parse("2026-03", zone).expect("a month");
        let header = format!("1 Mar 2026 00:00 - 1 Apr 2026 00:00 {} = {bounds}", zone.name());
        assert!(text::statement(&statement).contains(&header), "{}", text::statement(&statement));
        assert!(page::statement(&statement, &Links::none()).contains(&header), "{header}");
    }
}
