//! `slicemeter tenants check`.

use super::{Global, Outcome, load};
use clap::{Args, Subcommand};

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read tenants.toml and print the tree and the rules in the order in which they are tried
    Check,
}

/// Prints what is declared. A tenant that no rule leads to is a finding.
///
/// # Errors
/// tenants.toml is wrong.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let Command::Check = options.command;
    let config = load(global)?;
    let tenants = &config.tenants;
    let now_ms = crate::clock::now_ms();
    let mut outcome = Outcome::Done;
    for tenant in tenants.declared(now_ms) {
        let has_rule = tenants.rules().iter().any(|r| r.tenant == tenant.id);
        let is_parent = tenants.declared(now_ms).any(|t| t.parent.as_ref() == Some(&tenant.id));
        let note =
            if has_rule || is_parent || tenants.rules().is_empty() { "" } else { "  NO RULE LEADS HERE" };
        if !note.is_empty() {
            outcome = Outcome::Finding;
        }
        println!("{:<32} {}{note}", tenants.path(&tenant.id, now_ms), tenant.name);
    }
    for (number, rule) in (1..).zip(tenants.rules()) {
        println!("rule {number}: {} -> {}", rule.describe(), rule.tenant.as_str());
    }
    if tenants.rules().is_empty() {
        println!("no rules: namespace, Slurm account or user becomes a tenant of that name");
    }
    Ok(outcome)
}
