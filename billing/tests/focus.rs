//! A FOCUS file is the ledger: its rows sum to every statement and to every posted line, in both versions and both forms.
//! `UPDATE_GOLDEN=1 cargo test -p slicemeter-billing --test focus` writes the golden files anew.

mod worked;

use billing::bill::DevicePiece;
use billing::charge::{Charge, ChargeKind, Quantity, Unit};
use billing::export::focus::{
    Export, FocusError, Form, Issuer, Month, Version, billing_periods, invoice_details,
};
use billing::money::{Amount, Currency, Exact, UnitPrice};
use billing::price::PriceBook;
use billing::rating::{Rules, Sums, rate};
use billing::statement::{Bill, Mode, prepare};
use billing::tenant::TenantId;
use parquet::file::reader::{FileReader, SerializedFileReader};
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;
use std::path::Path;
use worked::{context, devices, owners, period, prices, tenants, usage};

fn usd() -> Currency {
    Currency::parse("USD").expect("a currency")
}

fn issuer() -> Issuer {
    Issuer { name: "Acme Research".into(), account_id: "acme".into(), region: Some("sao-paulo-1".into()) }
}

fn id(text: &str) -> TenantId {
    TenantId::parse(text).expect("an id")
}

/// The month's price book with a policy that shares out what is free.
fn book() -> PriceBook {
    let free =
        "\n[[allocation]]\nid = \"free-evenly\"\ncost = \"free\"\nby = \"even\"\nfrom = \"2026-01-01\"\n";
    PriceBook::parse("prices.toml", &format!("{}{free}", worked::PRICES), period().zone()).expect("prices")
}

/// A row of every kind besides those of the worked month.
fn charges() -> Vec<Charge> {
    let row =
        |tenant: &str, kind, what: &str, cents: i64, reference: &str, counterpart: Option<&str>| Charge {
            tenant: id(tenant),
            kind,
            what: what.into(),
            held: NanoGpuHours(0),
            quantity: None,
            unit_price: None,
            exact: Amount(cents).exact(&usd()),
            amount: Amount(cents),
            reference: reference.into(),
            counterpart: counterpart.map(id),
        };
    let sold = |kind, what: &str, nano: i64, unit, price: &str, reference: &str| {
        let (quantity, price) = (Quantity { nano, unit }, UnitPrice::parse(price).expect("a price"));
        let exact = Exact::times(quantity, price);
        let amount = exact.round_half_even(&usd());
        let (quantity, unit_price) = (Some(quantity), Some(price));
        Charge { quantity, unit_price, exact, amount, ..row("vision", kind, what, 0, reference, None) }
    };
    let free = "free H100 80GB HBM3, evenly";
    let mut charges = worked::charges();
    charges.extend([
        row(
            "platform",
            ChargeKind::Allocation,
            &format!("{free}: taken by tenants"),
            -10_001,
            "free-evenly",
            None,
        ),
        row("vision", ChargeKind::Allocation, free, 5_001, "free-evenly", Some("platform")),
        row("speech", ChargeKind::Allocation, free, 5_000, "free-evenly", Some("platform")),
        row(
            "speech",
            ChargeKind::Adjustment,
            "agreed in September (posted by ada)",
            1_234,
            "a-1",
            Some("platform"),
        ),
        row(
            "platform",
            ChargeKind::Adjustment,
            "agreed in September (posted by ada)",
            -1_234,
            "a-1",
            Some("speech"),
        ),
        row("platform", ChargeKind::Reconciliation, "invoice cloud 77", 777, "n-1", None),
        row("platform", ChargeKind::BasisDifference, "L40S, held less charged by busy", 55, "l40s", None),
        row("vision", ChargeKind::Tax, "VAT 10 % of 100.00", 1_000, "vat", None),
        sold(ChargeKind::Fee, "storage, Sep 2026", 1_000_000_000, Unit::Month, "49.90", "storage"),
        sold(
            ChargeKind::Energy,
            "energy with the site's overhead",
            12_345_678_901,
            Unit::KilowattHour,
            "0.11",
            "grid",
        ),
    ]);
    charges
}

fn bill(mode: Mode) -> Bill {
    let (usage, devices, tenants) = (usage(), devices(), tenants());
    let rated = rate(&usage, &devices, &owners(), Rules { tenants: &tenants, prices: &prices() }, &usd());
    prepare(&context(mode), &rated.expect("rates"), charges(), &devices, &tenants)
}

/// The usage as the store keeps it, by tenant.
fn pieces(usage: &[billing::usage::UsageTotal], book: &PriceBook) -> BTreeMap<String, Vec<DevicePiece>> {
    let (tenants, owners) = (tenants(), owners());
    let rules = Rules { tenants: &tenants, prices: book };
    let mut pieces: BTreeMap<String, Vec<DevicePiece>> = BTreeMap::new();
    for row in usage {
        let (resolved, key) = rules.line_among(row, &owners);
        let sums = Sums::of(row, key.basis);
        pieces.entry(resolved.tenant.to_string()).or_default().push(DevicePiece {
            tenant: resolved.tenant,
            key,
            cluster: row.cluster.clone(),
            node: row.node.clone(),
            device: row.device.clone(),
            model: row.model.clone(),
            segment: row.segment,
            sums,
        });
    }
    pieces
}

fn export(
    bill: &Bill,
    pieces: &BTreeMap<String, Vec<DevicePiece>>,
    version: Version,
    form: Form,
) -> Result<Vec<u8>, FocusError> {
    let (issuer, book) = (issuer(), book());
    let mut export = Export::begin(&issuer, version, form, Vec::new())?;
    export.month(bill, book.policies());
    let of = |tenant: &str| pieces.get(tenant).map_or(&[][..], Vec::as_slice);
    for statement in &bill.tenants {
        export.statement(statement, of(statement.tenant.id.as_str()))?;
    }
    export.platform(&bill.platform, of("unattributed"))?;
    export.end()
}

/// A file's rows, each by column.
fn rows(file: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(file);
    reader.deserialize().map(|row| row.expect("a row of as many cells as columns")).collect()
}

/// In 1e-15.
fn exact(cell: &str) -> i128 {
    let (whole, decimals) = cell.split_once('.').expect("every decimal has a point");
    format!("{whole}{decimals:0<15}").parse().expect("digits")
}

fn sums<'a>(rows: &'a [BTreeMap<String, String>], by: &str) -> BTreeMap<&'a str, i128> {
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry(row[by].as_str()).or_default() += exact(&row["BilledCost"]);
    }
    sums
}

fn of(amount: Amount) -> i128 {
    amount.exact(&usd()).0
}

/// Naive sums of a file are the ledger, by tenant and by posted line; and costs are price times quantity.
fn check(bill: &Bill, file: &[u8]) {
    let rows = rows(file);
    let by_tenant = sums(&rows, "x_TenantId");
    for statement in &bill.tenants {
        let sum = by_tenant.get(statement.tenant.id.as_str()).copied().unwrap_or_default();
        assert_eq!(sum, of(statement.totals.amount), "{}", statement.number);
    }
    assert_eq!(by_tenant.values().sum::<i128>(), of(bill.fleet.amount));
    let by_line = sums(&rows, "x_StatementLine");
    for statement in &bill.tenants {
        let lines = statement.lines.iter().map(|l| (format!("L{}", l.number), l.amount.unwrap_or_default()));
        let charges = statement.charges.iter().map(|c| (c.number.clone(), c.charge.amount));
        for (number, amount) in lines.chain(charges) {
            let line = format!("{}-{number}", statement.number);
            assert_eq!(by_line.get(line.as_str()).copied().unwrap_or_default(), of(amount), "{line}");
        }
    }
    for row in &rows {
        for (unit_price, cost) in [("ListUnitPrice", "ListCost"), ("ContractedUnitPrice", "ContractedCost")] {
            if !row[unit_price].is_empty() {
                let product =
                    exact(&row[unit_price]) / 1_000_000_000 * (exact(&row["PricingQuantity"]) / 1_000_000);
                assert_eq!(exact(&row[cost]), product, "{row:?}");
            }
        }
    }
}

fn golden(name: &str, content: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(&path, content).expect("written");
    }
    let want = std::fs::read(&path).unwrap_or_default();
    assert_eq!(
        String::from_utf8_lossy(content),
        String::from_utf8_lossy(&want),
        "{name} changed: UPDATE_GOLDEN=1"
    );
}

#[test]
fn a_month_with_a_row_of_every_kind_is_the_ledger() {
    let bill = bill(Mode::Chargeback);
    let pieces = pieces(&usage(), &prices());
    for (version, name) in [(Version::V1_4, "focus-1.4.csv"), (Version::V1_2, "focus-1.2.csv")] {
        let file = export(&bill, &pieces, version, Form::Csv).expect("exports");
        check(&bill, &file);
        golden(name, &file);
    }
    let file = export(&bill, &pieces, Version::V1_4, Form::Csv).expect("exports");
    let rows = rows(&file);
    let kinds: std::collections::BTreeSet<&str> = rows.iter().map(|r| r["x_ChargeKind"].as_str()).collect();
    for kind in [
        "usage",
        "free",
        "reservation",
        "fee",
        "energy",
        "basis difference",
        "allocated",
        "correction",
        "credit",
        "adjustment",
        "reconciliation",
        "tax",
        "rounding",
    ] {
        assert!(kinds.contains(kind), "no row of {kind}");
    }
    // What a policy moves sums to nothing over its rows, and its ratios to one.
    let split = || rows.iter().filter(|row| !row["AllocatedMethodId"].is_empty());
    assert_eq!(split().map(|row| exact(&row["BilledCost"])).sum::<i128>(), 0);
    let ratio = |row: &BTreeMap<String, String>| -> Option<i64> {
        let (_, ratio) = row["AllocatedMethodDetails"].split_once("\"AllocatedRatio\":")?;
        ratio.trim_end_matches(|c: char| !c.is_ascii_digit()).replace('.', "").parse().ok()
    };
    assert_eq!(split().filter_map(ratio).sum::<i64>(), 1_000_000_000);
    assert!(split().all(|row| row["SubAccountId"] == "platform"), "the account stays where the cost stood");
    let remainder: Vec<_> = split().filter(|row| row["AllocatedResourceId"].is_empty()).collect();
    assert_eq!((remainder.len(), remainder[0]["BilledCost"].as_str()), (1, "-100.01"));
    // A correction bears the month that it corrects, and stands in this one.
    let correction = rows.iter().find(|row| row["ChargeClass"] == "Correction").expect("a correction");
    assert_eq!(
        [&correction["ChargePeriodStart"], &correction["BillingPeriodStart"]],
        ["2026-08-01T03:00:00Z", "2026-09-01T03:00:00Z"]
    );
}

#[test]
fn a_showback_is_no_invoice() {
    let bill = bill(Mode::Showback);
    let file = export(&bill, &pieces(&usage(), &prices()), Version::V1_4, Form::Csv).expect("exports");
    assert!(rows(&file).iter().all(|row| row["InvoiceId"].is_empty() && row["InvoiceDetailId"].is_empty()));
    let months = [Month { bill: &bill, closed_ms: None }];
    let details = invoice_details(&months, &issuer(), Form::Csv, Vec::new()).expect("written");
    assert_eq!(rows(&details).len(), 0);
}

#[test]
fn the_other_datasets_say_what_is_closed_and_what_each_statement_posts() {
    let bill = worked::closed_bill();
    let closed_ms = period().window().end_ms + 8 * 86_400_000;
    let months = [Month { bill: &bill, closed_ms: Some(closed_ms) }];
    let periods = rows(&billing_periods(&months, &issuer(), Form::Csv, Vec::new()).expect("written"));
    assert_eq!(
        (
            periods.len(),
            periods[0]["BillingPeriodStatus"].as_str(),
            periods[0]["BillingPeriodLastUpdated"].as_str()
        ),
        (1, "Closed", "2026-10-09T03:00:00Z")
    );
    let details = invoice_details(&months, &issuer(), Form::Csv, Vec::new()).expect("written");
    let details = rows(&details);
    for statement in &bill.tenants {
        let own = sums(&details, "InvoiceId");
        assert_eq!(own[statement.number.as_str()], of(statement.totals.amount));
    }
    let correction =
        details.iter().find(|row| row["InvoiceDetailId"] == "VIS-2026-09-C1").expect("a correction");
    assert_eq!(correction["ReferenceInvoiceId"], "VIS-2026-08");
    // Both files join: what a line's rows sum to is what the invoice says of it.
    let file = export(&bill, &pieces(&usage(), &prices()), Version::V1_4, Form::Csv).expect("exports");
    let lines = rows(&file);
    let by_detail = sums(&lines, "InvoiceDetailId");
    assert_eq!(by_detail, sums(&details, "InvoiceDetailId"));
}

#[test]
fn parquet_holds_the_same_rows() {
    let bill = bill(Mode::Chargeback);
    let pieces = pieces(&usage(), &prices());
    let csv = rows(&export(&bill, &pieces, Version::V1_4, Form::Csv).expect("exports"));
    let file = export(&bill, &pieces, Version::V1_4, Form::Parquet).expect("exports");
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
    let columns: Vec<String> =
        reader.metadata().file_metadata().schema().get_fields().iter().map(|f| f.name().to_owned()).collect();
    let found: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(found.len(), csv.len());
    for (found, want) in found.iter().zip(&csv) {
        for ((name, field), column) in found.get_column_iter().zip(&columns) {
            assert_eq!(name, column);
            let text = match field.clone() {
                parquet::record::Field::Null => String::new(),
                parquet::record::Field::Str(text) => text,
                parquet::record::Field::Decimal(decimal) => {
                    let mut bytes = [0; 16];
                    bytes.copy_from_slice(decimal.data());
                    billing::export::focus::Value::Decimal(Exact(i128::from_be_bytes(bytes))).plain()
                }
                parquet::record::Field::TimestampMillis(at_ms) => {
                    billing::export::focus::Value::Time(at_ms).plain()
                }
                other => panic!("{name}: {other}"),
            };
            // A CSV has an apostrophe in front of what a spreadsheet would run.
            let plain = want[name].strip_prefix("'=").map_or(want[name].clone(), |rest| format!("={rest}"));
            assert_eq!(text, plain, "{name}");
        }
    }
}

#[test]
fn pieces_that_are_not_the_lines_export_nothing() {
    let bill = bill(Mode::Chargeback);
    let mut pieces = pieces(&usage(), &prices());
    pieces.get_mut("vision").expect("vision's").pop();
    let error = export(&bill, &pieces, Version::V1_4, Form::Csv).expect_err("a piece is missing").to_string();
    assert!(error.contains("VIS-2026-09-L") && error.contains("nothing is exported"), "{error}");
}
