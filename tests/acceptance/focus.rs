//! FOCUS's own validator over exports with a row of every kind, in both versions and both forms.
//!
//! One rule of the published 1.4 model can't be met by a file with a tax: `PricingCurrencyContractedUnitPrice-C-012-C` says
//! "MUST NOT be null when SkuPriceId is not null" and its condition asks whether SkuPriceId *is* null, where rules C-004-C and
//! C-011-C want null. It is left out where it fails for exactly the rows without a SkuPriceId, and shown as a figure.

use anyhow::{Context, Result, ensure};
use harness::every_kind::EveryKind;
use harness::figures::{Figures, Target};
use harness::focus_file::{self, Row, exact};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const SECTION: &str = "focus";
/// The rule whose condition is the wrong way round, and what is made of it.
const INVERTED: &str = "CAU-PricingCurrencyContractedUnitPrice-C-012-C";
const MADE_OF_IT: [&str; 2] =
    ["CAU-PricingCurrencyContractedUnitPrice-C-000-C", "CAU-PricingCurrencyContractedUnitPrice-C-003-M"];

/// Runs the validator at `checker`.
///
/// # Errors
/// A program fails.
pub fn run(figures: &mut Figures, checker: &Path) -> Result<()> {
    let story = EveryKind::make()?;
    let dir = tempfile::tempdir()?;
    for (version, name) in [("1.4", "failing_rules_1_4"), ("1.2", "failing_rules_1_2")] {
        let mut failing = 0;
        for (period, form) in [
            (&story.closed, "csv"),
            (&story.open, "csv"),
            (&story.closed, "parquet"),
            (&story.open, "parquet"),
        ] {
            let file = dir.path().join(format!("{period}-{version}.{form}"));
            let output = file.to_str().context("a path in UTF-8")?;
            let format = format!("focus-{form}");
            let what = ["report", "--period", period, "--format", &format, "--output", output];
            story.service.cli_ok(&[&what[..], &["--focus-version", version]].concat())?;
            // A Parquet file has the rows of the CSV.
            let csv = file.with_extension("csv");
            failing += check(checker, &file, version, &csv)?;
        }
        figures.add(SECTION, name, f64::from(failing), "rules", Target::AtMost(0.0));
    }
    for (period, name) in [(&story.closed, "closed"), (&story.open, "open")] {
        let rows = rows(&dir.path().join(format!("{period}-1.4.csv")))?;
        let mut billed: BTreeMap<&str, i128> = BTreeMap::new();
        for row in &rows {
            *billed.entry(row["x_TenantId"].as_str()).or_default() += exact(&row["BilledCost"])?;
        }
        let bill = story.bill(period)?;
        let mut off = (billed.values().sum::<i128>() - amount(&bill["fleet"]["amount"])?).abs();
        for statement in bill["statements"].as_array().context("statements")? {
            let tenant = statement["tenant"]["id"].as_str().context("an id")?;
            let own = billed.get(tenant).copied().unwrap_or_default();
            off += (own - amount(&statement["totals"]["amount"])?).abs();
        }
        let figure = format!("{name}_month_off_ledger");
        figures.add(SECTION, &figure, off as f64 / 1e15, "USD", Target::AtMost(0.0));
        figures.add(SECTION, &format!("{name}_month_rows"), rows.len() as f64, "rows", Target::Shown);
    }
    Ok(())
}

/// How many rules fail that can be met.
fn check(checker: &Path, file: &Path, version: &str, csv: &Path) -> Result<u32> {
    let output = Command::new(checker).arg(file).arg(version).output().context("run the validator")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        said.contains("Total: "),
        "the validator did not finish: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let failing: Vec<&str> = said.lines().filter(|line| line.starts_with('❌')).collect();
    let inverted = failing.iter().find(|line| line.contains(&format!(" {INVERTED}:")));
    let without_sku = rows(csv)?.iter().filter(|row| row["SkuPriceId"].is_empty()).count();
    let excused = inverted.is_some_and(|line| line.contains(&format!("(violations={without_sku},")));
    let counts = |line: &&&str| {
        let of_it = [INVERTED].iter().chain(&MADE_OF_IT).any(|rule| line.contains(&format!(" {rule}:")));
        !(excused && of_it)
    };
    let counted: Vec<&&str> = failing.iter().filter(counts).collect();
    for line in &counted {
        println!("{}: {line}", file.display());
    }
    u32::try_from(counted.len()).context("fewer rules than that")
}

fn rows(file: &Path) -> Result<Vec<Row>> {
    focus_file::rows(&std::fs::read(file)?)
}

fn amount(value: &Value) -> Result<i128> {
    exact(value.as_str().context("decimals are strings")?)
}
