//! `slicemeter adjust propose` and `approve`: credits for work lost to failures, by the rules of `prices.toml`.

use super::super::period::month;
use super::super::{Outcome, WrongUse, person};
use crate::config::Loaded;
use crate::open::Opened;
use crate::periods::{self, Proposed};
use billing::post::adjust::{REASON_MAX, fits_a_statement};
use clap::Args;
use dashboards::text;

#[derive(Debug, Args)]
pub(super) struct ApproveOptions {
    /// The month of the failures, 2026-10
    #[arg(long)]
    period: String,
    /// The proposals, as `adjust propose` names them
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Every proposal of the month that isn't posted yet
    #[arg(long)]
    all: bool,
    /// The open month whose statements carry the credits; the month of the failures if missing
    #[arg(long, value_name = "PERIOD")]
    into: Option<String>,
    /// Why; it is printed on the statement
    #[arg(long)]
    reason: Option<String>,
    /// Who approves; the user of this shell if missing
    #[arg(long)]
    author: Option<String>,
}

pub(super) async fn propose(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(text, config)?;
    let proposed = periods::proposed(&opened.store, config, &period).await?;
    if proposed.is_empty() {
        let why = match config.prices.policies().credit_rules.is_empty() {
            true => ": prices.toml has no [[credit_rule]]",
            false => ": no failure that a [[credit_rule]] names took work with it",
        };
        println!("no credits are proposed for {}{why}", period.label());
        return Ok(Outcome::Done);
    }
    print!("{}", table(&proposed, config));
    Ok(Outcome::Done)
}

pub(super) async fn approve(
    options: &ApproveOptions,
    config: &Loaded,
    opened: &Opened,
) -> anyhow::Result<Outcome> {
    check_reason(options.reason.as_deref())?;
    let period = month(&options.period, config)?;
    let into = month(options.into.as_deref().unwrap_or(&options.period), config)?;
    let author = person(options.author.as_deref());
    let proposed = periods::proposed(&opened.store, config, &period).await?;
    for id in &options.ids {
        if !proposed.iter().any(|p| p.proposal.id == *id) {
            return Err(WrongUse(format!(
                "{id} is no proposal of {0}: `slicemeter adjust propose --period {0}` lists them",
                period.label()
            ))
            .into());
        }
    }
    let chosen = proposed.iter().filter(|p| options.all || options.ids.contains(&p.proposal.id));
    let mut count = 0;
    for Proposed { proposal, posted } in chosen {
        if let Some(month) = posted {
            println!("{} is posted to {month} already", proposal.id);
            continue;
        }
        let reason = options.reason.as_deref();
        let posted = periods::approve(&opened.store, proposal, &into, &author, reason).await?;
        println!("{} is posted to {}", proposal.id, into.label());
        print!("{}", text::charges(&posted.charges, &config.currency));
        count += 1;
    }
    println!("credits posted: {count}");
    Ok(Outcome::Done)
}

fn check_reason(reason: Option<&str>) -> Result<(), WrongUse> {
    let Some(reason) = reason else { return Ok(()) };
    if reason.trim().is_empty() {
        return Err(WrongUse("--reason is empty: statements print it; leave it out or say why".into()));
    }
    if !fits_a_statement(reason) {
        return Err(WrongUse(format!("--reason must be one line of at most {REASON_MAX} characters")));
    }
    Ok(())
}

fn table(proposed: &[Proposed], config: &Loaded) -> String {
    let rows: Vec<_> = proposed.iter().map(|p| (&p.proposal, p.posted.as_deref())).collect();
    text::proposals(&rows, &config.currency)
}
