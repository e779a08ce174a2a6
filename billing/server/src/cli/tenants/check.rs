//! `slicemeter tenants check`.

use crate::cli::Outcome;
use crate::config::Loaded;
use billing::tenant::Tenants;
use billing::words;

/// Prints what is declared. A tenant that no rule leads to is a finding.
pub(super) fn run(config: &Loaded) -> Outcome {
    let (tenants, now_ms) = (&config.tenants, crate::clock::now_ms());
    let mut outcome = Outcome::Done;
    for tenant in tenants.declared(now_ms) {
        let has_rule = tenants.rules().iter().any(|r| r.tenant == tenant.id);
        let is_parent = tenants.declared(now_ms).any(|t| t.parent.as_ref() == Some(&tenant.id));
        let ends = tenant.ends_ms.map_or_else(String::new, |at_ms| {
            let word = if at_ms <= now_ms { "ended" } else { "ends" };
            format!("  {word} {}", words::day(at_ms, config.zone))
        });
        let note =
            if has_rule || is_parent || tenants.rules().is_empty() { "" } else { "  NO RULE LEADS HERE" };
        if !note.is_empty() {
            outcome = Outcome::Finding;
        }
        println!("{:<32} {}{ends}{note}", tenants.path(&tenant.id, now_ms), tenant.name);
    }
    for (number, rule) in (1..).zip(tenants.rules()) {
        println!("rule {number}: {} -> {}", rule.describe(), rule.tenant.as_str());
    }
    if tenants.rules().is_empty() {
        println!("no rules: namespace, Slurm account or user becomes a tenant of that name");
    }
    for (hint, fact) in overruled(tenants) {
        println!(
            "note: rule {hint} looks only at what users choose and is tried before rule {fact}: anybody can make it match; put it below, or add a namespace, account or user to it"
        );
    }
    outcome
}

/// Rules on what users choose that stand before another tenant's rule on what they don't, each with the first such.
fn overruled(tenants: &Tenants) -> Vec<(usize, usize)> {
    let rules = tenants.rules();
    let hints = (0..rules.len()).filter(|at| rules[*at].is_user_controlled());
    let first = |at: usize| {
        let fact =
            |later: &usize| !rules[*later].is_user_controlled() && rules[*later].tenant != rules[at].tenant;
        (at + 1..rules.len()).find(fact)
    };
    hints.filter_map(|at| Some((at + 1, first(at)? + 1))).collect()
}
