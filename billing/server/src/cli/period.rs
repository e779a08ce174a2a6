//! `slicemeter period`: which months have data, what stands in the way of closing one, closing it, and what came after.

use super::{Global, Outcome, WrongUse, load_and_open, person};
use crate::config::Loaded;
use crate::open::Opened;
use crate::periods::{self, Outcome as Close};
use crate::report::{ReportError, months};
use billing::closing::{Finding, Item};
use billing::period::Period;
use billing::statement::Bill;
use clap::{Args, Subcommand};
use dashboards::text;

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Months with published hours, newest first, and whether they are open, provisional or closed
    List,
    /// What stands in the way of closing a month: unpriced lines, coverage, unattributed use, late collectors, ...
    Check {
        /// 2026-10
        period: String,
    },
    /// Close a month: its statements are final and never change; done twice, or by two at once, it is closed once
    Close(CloseOptions),
    /// Check a closed month against its manifest: statements, usage, prices, tenants, postings
    Verify {
        /// 2026-10
        period: String,
    },
    /// What a closed month would be now, row by row, and why it differs
    Diff {
        /// 2026-10
        period: String,
    },
    /// Post what differs as corrections into an open month, on every statement that it touches
    Correct(CorrectOptions),
}

#[derive(Debug, Args)]
struct CloseOptions {
    /// 2026-10
    period: String,
    /// Close although this item of `period check` stands in the way; --reason says why, in the same order
    #[arg(long, value_name = "ITEM")]
    waive: Vec<String>,
    /// Why the item is waived; it is printed on the statements
    #[arg(long, value_name = "TEXT")]
    reason: Vec<String>,
    /// Who closes; the user of this shell if missing
    #[arg(long)]
    author: Option<String>,
}

#[derive(Debug, Args)]
struct CorrectOptions {
    /// The closed month, 2026-10
    period: String,
    /// The open month whose statements carry the corrections
    #[arg(long, value_name = "PERIOD")]
    into: String,
    /// Why; it is printed on the statements
    #[arg(long)]
    reason: String,
    /// Who corrects; the user of this shell if missing
    #[arg(long)]
    author: Option<String>,
}

/// Runs one of them. Whatever stands in the way, differs or doesn't verify is a finding.
///
/// # Errors
/// Not a period, no data, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = match options.command {
        Command::List => list(&config, &opened).await,
        Command::Check { period } => check(&period, &config, &opened).await,
        Command::Close(options) => close(&options, &config, &opened).await,
        Command::Verify { period } => verify(&period, &config, &opened).await,
        Command::Diff { period } => diff(&period, &config, &opened).await,
        Command::Correct(options) => correct(&options, &config, &opened).await,
    };
    opened.close().await;
    outcome
}

/// A month as it is written on the command line.
pub(super) fn month(text: &str, config: &Loaded) -> anyhow::Result<Period> {
    Ok(Period::parse(text, config.zone).map_err(ReportError::from)?)
}

async fn list(config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let reader = opened.store.reader();
    for month in months(&reader, config).await? {
        let published = reader.published(month.window()).await?;
        let state = match reader.closing(month.label()).await? {
            Some(closing) => format!("closed by {}, manifest {}", closing.author, &closing.manifest_id[..12]),
            None if month.window().end_ms <= crate::clock::now_ms() => "provisional".into(),
            None => "open".into(),
        };
        println!("{}  {} of {} hours  {state}", month.label(), published.hours, month.hours());
    }
    Ok(Outcome::Done)
}

async fn check(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(text, config)?;
    let (bill, found) = periods::check(&opened.store, config, &period).await?;
    let published = opened.store.reader().published(period.window()).await?;
    println!("{}  {} of {} hours published", period.label(), published.hours, period.hours());
    println!(
        "capacity {} GPU-hours, {} statements, {}",
        bill.fleet.capacity,
        bill.tenants.len(),
        if bill.fleet.adds_up() { "they add up to the hardware" } else { "THEY DON'T ADD UP" }
    );
    print_idle_prices(&bill, config);
    print_findings(&found);
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Finding })
}

/// Prices that no device of the period has the model of: a mistyped name prices nothing and is easily missed.
fn print_idle_prices(bill: &Bill, config: &Loaded) {
    let lines = bill.tenants.iter().flat_map(|s| &s.lines).chain(&bill.platform.unattributed);
    let of_capacity = bill.platform.lines.iter().map(|line| line.model.as_str());
    let models: Vec<&str> = lines.map(|line| line.key.model.as_str()).chain(of_capacity).collect();
    for matched in config.prices.matched(models).iter().filter(|m| m.models.is_empty()) {
        println!("note: price {:?} fits no device of the period", matched.entry);
    }
}

fn print_findings(found: &[Finding]) {
    if found.is_empty() {
        println!("nothing stands in the way of closing");
    }
    for finding in found {
        let waive = if finding.item.can_be_waived() { "" } else { " (can't be waived)" };
        println!("{}: {}{waive}", finding.item.name(), finding.what);
    }
}

async fn close(options: &CloseOptions, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    if options.waive.len() != options.reason.len() {
        return Err(
            WrongUse("--waive ITEM and --reason TEXT go together: give one reason an item".into()).into()
        );
    }
    let mut waived = Vec::new();
    for (name, reason) in options.waive.iter().zip(&options.reason) {
        let item = Item::parse(name).filter(|item| item.can_be_waived()).ok_or_else(|| {
            let names: Vec<&str> =
                Item::ALL.into_iter().filter(|i| i.can_be_waived()).map(Item::name).collect();
            WrongUse(format!("--waive {name}: is none of {}", names.join(", ")))
        })?;
        if reason.trim().is_empty() {
            return Err(WrongUse(format!("--reason of {name} is empty: statements print it")).into());
        }
        waived.push((item, reason.clone()));
    }
    let period = month(&options.period, config)?;
    let author = person(options.author.as_deref());
    match periods::close(&opened.store, config, &period, &waived, &author).await? {
        Close::Closed(closing) => {
            println!("{} is closed by {}, manifest {}", period.label(), closing.author, closing.manifest_id);
            Ok(Outcome::Done)
        }
        Close::Refused(found) => {
            println!("{} isn't closed:", period.label());
            print_findings(&found);
            Ok(Outcome::Finding)
        }
    }
}

async fn verify(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(text, config)?;
    let (manifest, wrong) = periods::verify(&opened.store.reader(), &period).await?;
    let inputs = &manifest.inputs;
    println!(
        "{} closed with prices v{}, mapping v{}, method {}, software {}",
        period.label(),
        inputs.prices.number,
        inputs.mapping.number,
        inputs.method,
        inputs.software
    );
    println!("manifest {}, {} statements", inputs.id(), manifest.statements.len());
    for what in &wrong {
        println!("WRONG: {what}");
    }
    if wrong.is_empty() {
        println!("everything is as it was closed");
    }
    Ok(if wrong.is_empty() { Outcome::Done } else { Outcome::Finding })
}

async fn diff(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(text, config)?;
    let found = periods::differences(&opened.store, config, &period).await?;
    print!("{}", text::differences(period.label(), &found.because, &found.deltas, &config.currency));
    Ok(if found.deltas.is_empty() { Outcome::Done } else { Outcome::Finding })
}

async fn correct(options: &CorrectOptions, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    if options.reason.trim().is_empty() {
        return Err(WrongUse("--reason is empty: statements print it".into()).into());
    }
    let (period, into) = (month(&options.period, config)?, month(&options.into, config)?);
    let author = person(options.author.as_deref());
    let charges = periods::correct(&opened.store, config, &period, &into, &options.reason, &author).await?;
    println!("{} corrections of {} are posted to {}", charges.len(), period.label(), into.label());
    print!("{}", text::charges(&charges, &config.currency));
    Ok(Outcome::Done)
}
