//! What an import says it did, or would do.

use super::Common;
use billing::import::held;
use billing::import::lines::ranges;
use billing::import::plan::Plan;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Ranges of lines that are listed for one reason, unless everything is asked for.
const RANGES_MAX: usize = 8;
/// Refused rows that are listed one by one, unless everything is asked for.
const REFUSED_MAX: usize = 20;

/// Prints to the standard output; refusals that stop an import go to standard error too.
pub(super) fn print(plan: &Plan, file: &Path, common: &Common) {
    print!("{}", text(plan, &file.display().to_string(), common.dry_run, common.skip_bad));
}

fn text(plan: &Plan, file: &str, dry_run: bool, skip_bad: bool) -> String {
    let (ranges_max, refused_max) =
        if dry_run { (usize::MAX, usize::MAX) } else { (RANGES_MAX, REFUSED_MAX) };
    let stopped = !dry_run && !plan.refused.is_empty() && !skip_bad;
    let mut out = String::new();
    let mut say = |line: std::fmt::Arguments<'_>| {
        out.write_fmt(line).expect("a string takes what is written");
        out.push('\n');
    };
    let lines = ranges(plan.added.iter().map(|(line, _)| *line), ranges_max);
    let quantity = held(plan.added.iter().map(|(_, run)| run));
    let verb = match (dry_run, stopped) {
        (true, _) => "would add",
        (false, true) => "nothing was written; would have added",
        (false, false) => "added",
    };
    say(format_args!(
        "{file}: {verb} {} of {quantity} GPU-hours{}",
        counted(plan.added.len(), "run"),
        of(&lines)
    ));
    if !plan.repeated.is_empty() {
        let lines = ranges(plan.repeated.iter().copied(), ranges_max);
        say(format_args!("  {} counted already{}", are(plan.repeated.len()), of(&lines)));
    }
    let mut skipped: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for (line, why) in &plan.skipped {
        skipped.entry(*why).or_default().push(*line);
    }
    for (why, lines) in skipped {
        let shown = ranges(lines.iter().copied(), ranges_max);
        say(format_args!("  {} skipped: {why}{}", are(lines.len()), of(&shown)));
    }
    if !plan.refused.is_empty() {
        say(format_args!("  {} refused:", are(plan.refused.len())));
        for (line, why) in plan.refused.iter().take(refused_max) {
            say(format_args!("    line {line}: {why}"));
        }
        if let Some(rest) = plan.refused.len().checked_sub(refused_max).filter(|rest| *rest > 0) {
            say(format_args!("    and {rest} more: --dry-run lists all"));
        }
    }
    if stopped {
        say(format_args!(
            "  An import is whole or not at all: mend these lines, or leave them out with --skip-bad."
        ));
    }
    out
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn are(number: usize) -> String {
    if number == 1 { "1 row is".into() } else { format!("{number} rows are") }
}

fn of(lines: &str) -> String {
    match lines {
        "" => String::new(),
        one if !one.contains([',', '-', ' ']) => format!(" (line {one})"),
        many => format!(" (lines {many})"),
    }
}
