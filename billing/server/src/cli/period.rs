//! `slicemeter period`: which months have data, and whether one is complete.

use super::{Global, Outcome, load_and_open};
use crate::config::Loaded;
use crate::open::Opened;
use crate::report::{ReportError, months};
use billing::period::Period;
use clap::{Args, Subcommand};
use schema::units::{HOUR_MS, NanoGpuHours};

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Months with published hours, newest first
    List,
    /// Whether a period's hours are all there, add up, and were watched
    Check {
        /// 2026-10, 2026-Q3, 2026, or days 2026-10-01..2026-10-15
        period: String,
    },
}

/// Lists or checks. Missing hours, unobserved time and contested devices are findings.
///
/// # Errors
/// Not a period, no data, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = match options.command {
        Command::List => list(&config, &opened).await,
        Command::Check { period } => check(&period, &config, &opened).await,
    };
    opened.close().await;
    outcome
}

async fn list(config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let reader = opened.store.reader();
    for month in months(&reader, config).await? {
        let published = reader.published(month.window()).await?;
        println!("{}  {} of {} hours", month.label(), published.hours, month.hours());
    }
    Ok(Outcome::Done)
}

async fn check(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = Period::parse(text, config.zone).map_err(ReportError::from)?;
    let reader = opened.store.reader();
    let published = reader.published(period.window()).await?;
    if published.hours == 0 {
        return Err(ReportError::NoData(period.label().into()).into());
    }
    let devices = reader.device_totals(period.window(), &config.changes_ms()).await?;
    let sum =
        |of: fn(&billing::usage::DeviceTotal) -> NanoGpuHours| devices.iter().map(of).sum::<NanoGpuHours>();
    let (capacity, unobserved) = (sum(|d| d.capacity), sum(|d| d.unobserved));
    let broken = devices.iter().filter(|d| !d.adds_up()).count();
    let contested = devices.iter().filter(|d| d.contested).count();
    let span_hours = i64::from(published.last_hour_s - published.first_hour_s) * 1000 / HOUR_MS + 1;
    let missing = span_hours - i64::try_from(published.hours).unwrap_or(i64::MAX);
    println!(
        "{}  {} of {} hours published, {missing} missing between them",
        period.label(),
        published.hours,
        period.hours()
    );
    println!("capacity {capacity} GPU-hours, unobserved {unobserved}");
    println!("{broken} device rows don't add up, {contested} were contested by two collectors");
    let clean = missing == 0 && broken == 0 && contested == 0 && unobserved == NanoGpuHours(0);
    Ok(if clean { Outcome::Done } else { Outcome::Finding })
}
