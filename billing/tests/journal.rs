//! A journal is balanced: every document, and the whole against the platform's cost centre, whatever was posted.

mod worked;

use billing::export::journal::{Column, Content, Field, JournalError, Template, journal};
use billing::money::Amount;
use billing::statement::Mode;
use std::collections::BTreeMap;

fn template() -> Template {
    let own = |(name, field): (&str, Field)| Column { name: name.into(), content: Content::Field(field) };
    let mut columns: Vec<Column> = Field::ALL.into_iter().map(own).collect();
    columns.push(Column { name: "BUKRS".into(), content: Content::Fixed("1000".into()) });
    Template { columns, cost_centre: "9000".into(), account: "4400".into(), tenant_account: "6400".into() }
}

fn cents(cell: &str) -> i64 {
    cell.replace('.', "").parse().expect("two decimals")
}

#[test]
fn every_document_sums_to_zero_and_debits_what_its_statement_posts() {
    let mut bill = worked::closed_bill();
    for statement in &mut bill.tenants {
        statement.tenant.cost_centre.get_or_insert("4712".into());
    }
    let file = journal(&bill, &template()).expect("a journal");
    let mut reader = csv::Reader::from_reader(file.as_slice());
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(|row| row.expect("a row")).collect();
    let mut by_document: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for row in &rows {
        let amount = cents(&row["amount"]);
        let sum = by_document.entry(&row["document"]).or_default();
        sum.0 += amount;
        sum.1 += if row["cost_centre"] == "9000" { 0 } else { amount };
        let one_side = [&row["debit"], &row["credit"]].map(|cell| cell.is_empty());
        assert_ne!(one_side[0], one_side[1], "a row is a debit or a credit");
        assert_eq!((row["BUKRS"].as_str(), row["date"].as_str()), ("1000", "2026-09-30"));
    }
    for statement in &bill.tenants {
        let (all, tenant) = by_document[statement.number.as_str()];
        assert_eq!((all, Amount(tenant)), (0, statement.totals.amount), "{}", statement.number);
    }
    let credit = rows.iter().find(|row| row["text"] == "GPU credit 2026-09, final").expect("a credit");
    assert_eq!((credit["credit"].as_str(), credit["account"].as_str()), ("14.00", "6400"));
}

#[test]
fn a_showback_and_a_tenant_without_a_cost_centre_are_refused_by_name() {
    let shown = journal(&worked::bill(Mode::Showback), &template());
    assert_eq!(shown, Err(JournalError::Showback("2026-09".into())));
    let mut bill = worked::closed_bill();
    bill.tenants.iter_mut().for_each(|statement| statement.tenant.cost_centre = None);
    let error = journal(&bill, &template()).expect_err("nowhere to post").to_string();
    assert!(error.contains("speech, vision") && error.contains("tenants.toml"), "{error}");
}
