//! `slicemeter tenants dry-run` and `unmapped`: the rules over usage that is published.

use super::{DryRun, Format, Unmapped};
use crate::cli::Outcome;
use crate::config::{self, Loaded};
use crate::report::ReportError;
use crate::store::Reader;
use billing::export;
use billing::mapping;
use billing::period::Period;
use billing::rating::Owners;
use billing::tenant::Tenants;
use billing::usage::UsageTotal;
use dashboards::text;
use schema::window::Window;
use std::io::Write;

pub(super) async fn dry_run(options: &DryRun, config: &Loaded, reader: &Reader) -> anyhow::Result<Outcome> {
    let period = Period::parse(&options.period, config.zone).map_err(ReportError::from)?;
    let other = options.tenants_file.as_deref();
    let other = other.map(|file| config::load_tenants(file, config.zone)).transpose()?;
    let tenants = other.as_ref().unwrap_or(&config.tenants);
    let (usage, owners) = usage(reader, &period, config, tenants).await?;
    let current = other.as_ref().map(|_| &config.tenants);
    let run = mapping::dry_run(&usage, &owners, tenants, current, &config.prices);
    put(match options.format {
        Format::Text => text::dry_run(&run, &period, &config.currency).into_bytes(),
        Format::Json => export::mapping::dry_run(&run, &period, &config.currency),
    })
}

pub(super) async fn unmapped(
    options: &Unmapped,
    config: &Loaded,
    reader: &Reader,
) -> anyhow::Result<Outcome> {
    let period = Period::parse(&options.period, config.zone).map_err(ReportError::from)?;
    let (usage, owners) = usage(reader, &period, config, &config.tenants).await?;
    let devices = reader.device_totals(period.window(), &[]).await?;
    let found = mapping::unmapped(&usage, &devices, &owners, &config.tenants);
    put(match options.format {
        Format::Text => text::unmapped(&found, &period).into_bytes(),
        Format::Json => export::mapping::unmapped(&found, &period),
    })?;
    Ok(if found.groups.is_empty() { Outcome::Done } else { Outcome::Finding })
}

/// Published usage of a period between all changes of the configuration and of `tenants`. Hours are cut where the
/// configuration in force changes; another version's change within an hour counts from the hour's next cut.
async fn usage(
    reader: &Reader,
    period: &Period,
    config: &Loaded,
    tenants: &Tenants,
) -> anyhow::Result<(Vec<UsageTotal>, Owners)> {
    let window = period.window();
    if reader.published(window).await?.hours == 0 {
        return Err(ReportError::NoData(period.label().into()).into());
    }
    let mut changes_ms = config.changes_ms();
    changes_ms.extend(tenants.change_instants(Window::new(i64::MIN, i64::MAX)));
    Ok(tokio::try_join!(reader.usage_totals(window, &changes_ms), reader.owners(window))?)
}

fn put(bytes: Vec<u8>) -> anyhow::Result<Outcome> {
    use anyhow::Context;
    std::io::stdout().lock().write_all(&bytes).context("could not write the output")?;
    Ok(Outcome::Done)
}
