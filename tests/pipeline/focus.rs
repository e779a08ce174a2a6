//! FOCUS files and groupings of a closed month and an open one, through the command line: they are the ledger, whatever is in
//! it.

use harness::every_kind::EveryKind;
use harness::focus_file::{self, Row};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn rows(file: &[u8]) -> Vec<Row> {
    focus_file::rows(file).expect("rows of as many cells as columns")
}

/// In 1e-15 of the currency.
fn exact(cell: &str) -> i128 {
    focus_file::exact(cell).expect("a decimal")
}

fn by_tenant(rows: &[Row]) -> BTreeMap<&str, i128> {
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry(row["x_TenantId"].as_str()).or_default() += exact(&row["BilledCost"]);
    }
    sums
}

fn amount(value: &Value) -> i128 {
    exact(value.as_str().expect("decimals are strings"))
}

fn check(bill: &Value, rows: &[Row], month: &str) {
    let sums = by_tenant(rows);
    for statement in bill["statements"].as_array().expect("statements") {
        let tenant = statement["tenant"]["id"].as_str().expect("an id");
        assert_eq!(sums[tenant], amount(&statement["totals"]["amount"]), "{tenant} in {month}");
    }
    assert_eq!(sums.values().sum::<i128>(), amount(&bill["fleet"]["amount"]), "{month}");
}

fn kinds(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter().map(|row| row["x_ChargeKind"].as_str()).collect()
}

#[test]
fn focus_files_and_groupings_of_any_month_sum_to_its_statements() {
    let story = EveryKind::make().expect("the months are made");
    let file = |period: &str, more: &[&str]| {
        let args = ["report", "--period", period, "--format", "focus-csv"];
        let output = story.service.cli(&[&args[..], more].concat()).expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for (month, version) in [(&story.closed, "1.4"), (&story.open, "1.4"), (&story.closed, "1.2")] {
        let bill = story.bill(month).expect("a bill");
        check(&bill, &rows(&file(month, &["--focus-version", version])), month);
    }
    let closed = rows(&file(&story.closed, &[]));
    let open = rows(&file(&story.open, &[]));
    for kind in ["usage", "free", "reservation", "fee", "energy", "basis difference", "allocated", "tax"] {
        assert!(kinds(&closed).contains(kind), "{kind} of {:?}", kinds(&closed));
    }
    for kind in ["correction", "credit", "adjustment", "reconciliation"] {
        assert!(kinds(&open).contains(kind), "{kind} of {:?}", kinds(&open));
    }
    assert!(closed.iter().any(|row| row["x_PriceState"] == "unpriced"));
    assert!(
        closed.iter().any(|row| row["SkuPriceId"].ends_with("#2")),
        "the second tier is a price of its own"
    );
    let stated: BTreeSet<&str> = closed.iter().map(|row| row["x_StatementStatus"].as_str()).collect();
    assert_eq!(stated, BTreeSet::from(["FINAL"]));

    // One tenant's file is its rows of the whole.
    let own = rows(&file(&story.closed, &["--tenant", "one"]));
    let of_whole: Vec<&Row> = closed.iter().filter(|row| row["x_TenantId"] == "one").collect();
    assert_eq!(own.iter().collect::<Vec<_>>(), of_whole);

    // What the invoice says of a line is what its rows sum to.
    let details = rows(&file(&story.closed, &["--focus-dataset", "invoice-detail"]));
    let sums = |rows: &[Row]| {
        let mut sums: BTreeMap<String, i128> = BTreeMap::new();
        for row in rows {
            *sums.entry(row["InvoiceDetailId"].clone()).or_default() += exact(&row["BilledCost"]);
        }
        sums.retain(|_, sum| *sum != 0);
        sums
    };
    assert_eq!(sums(&closed), sums(&details));
    let periods = rows(&file(&story.closed, &["--focus-dataset", "billing-period"]));
    assert_eq!(periods[0]["BillingPeriodStatus"], "Closed");

    // Any grouping of a month sums to it, and of both months to both.
    let grouped = |period: &str, by: &str| -> Value {
        let args = ["report", "--period", period, "--format", "json", "--group-by", by];
        serde_json::from_str(&story.service.cli_ok(&args).expect("runs")).expect("JSON")
    };
    let span = format!("{}-01..{}-01", story.closed, story.after);
    let mut both = 0;
    for month in [&story.closed, &story.open] {
        let bill = story.bill(month).expect("a bill");
        both += amount(&bill["fleet"]["amount"]);
        for by in ["tenant", "user,model,kind", "level:1,job,sharing,profile", "month,node,kind"] {
            assert_eq!(
                amount(&grouped(month, by)["total"]["amount"]),
                amount(&bill["fleet"]["amount"]),
                "{by}"
            );
        }
        let groups = grouped(month, "tenant");
        for group in groups["groups"].as_array().expect("groups") {
            let statements = bill["statements"].as_array().expect("statements");
            let Some(own) = statements.iter().find(|s| s["tenant"]["id"] == group["by"]["tenant"]) else {
                continue;
            };
            assert_eq!(
                amount(&group["amount"]),
                amount(&own["totals"]["amount"]),
                "{}",
                group["by"]["tenant"]
            );
        }
    }
    assert_eq!(amount(&grouped(&span, "month,tenant")["total"]["amount"]), both);

    // A journal is balanced, and debits each tenant what its statement posts; who has no cost centre is named.
    let output =
        story.service.cli(&["report", "--period", &story.open, "--format", "journal-csv"]).expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("no cost centre is known of three: add cost_centre"), "{said}");
    let journal = ["report", "--period", &story.open, "--tenant", "two", "--format", "journal-csv"];
    let entries = rows(story.service.cli_ok(&journal).expect("a journal").as_bytes());
    let of = |wanted: &dyn Fn(&Row) -> bool| -> i128 {
        entries.iter().filter(|row| wanted(row)).map(|row| exact(&row["amount"])).sum()
    };
    let two = &story.bill(&story.open).expect("a bill")["statements"];
    let two = two.as_array().expect("statements").iter().find(|s| s["tenant"]["id"] == "two").expect("two's");
    assert_eq!(of(&|_| true), 0);
    assert_eq!(of(&|row| row["cost_centre"] == "4712"), amount(&two["totals"]["amount"]));

    // Bad input is told with its remedy, and nothing is left half-written.
    let refused = |args: &[&str]| {
        let output = story.service.cli(&[&["report", "--format", "focus-csv"], args].concat()).expect("runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let days = format!("{}-01..{}-03", story.closed, story.closed);
    assert!(refused(&["--period", &days]).contains("whole months"));
    assert!(refused(&["--period", &story.closed, "--tenant", "nobody"]).contains("has no statement"));
    let datasets = ["--focus-version", "1.2", "--focus-dataset", "billing-period"];
    assert!(refused(&[&["--period", &story.closed], &datasets[..]].concat()).contains("--focus-version"));
}
