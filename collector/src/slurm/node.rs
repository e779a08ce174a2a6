//! Whether Slurm has taken this node out of use, from one line of `scontrol show node NAME -o`. Only operators write
//! what stands in it, so its text can be trusted where a job's can't.

use crate::allocation::{OutOfUse, WhyOutOfUse};

/// Why and since when the node is out of use; `None` while Slurm gives it out.
pub fn out_of_use(line: &str) -> Option<OutOfUse> {
    let state = line.split_whitespace().find_map(|word| word.strip_prefix("State="))?;
    let unresponsive = state.contains('*');
    let words: Vec<&str> = state
        .split('+')
        .map(|word| word.trim_end_matches(['*', '~', '#', '$', '@', '^', '!', '%', '-']))
        .collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let why = if has(&[
        "REBOOT",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
        "POWERING_DOWN",
        "POWERED_DOWN",
        "POWERING_UP",
        "POWER_DOWN",
    ]) {
        WhyOutOfUse::Reconfiguring
    } else if has(&["MAINT", "MAINTENANCE", "DRAIN", "DRAINED", "DRAINING", "PLANNED_MAINT"]) {
        WhyOutOfUse::Maintenance
    } else if unresponsive
        || has(&["DOWN", "FAIL", "FAILING", "ERROR", "NOT_RESPONDING", "UNKNOWN", "INVALID_REG"])
    {
        WhyOutOfUse::Failed
    } else {
        return None;
    };
    let reason = line.split_once("Reason=").map_or("", |(_, reason)| reason).trim();
    Some(OutOfUse { why, since_ms: since_ms(reason), reason: format!("{state}: {reason}") })
}

/// The instant in `fan noise [root@2026-11-30T09:44:11]`; the command was asked for times in UTC.
fn since_ms(reason: &str) -> Option<i64> {
    let at = reason.rsplit_once('@')?.1.trim_end_matches(']');
    if let Ok(seconds) = at.parse::<i64>() {
        return Some(seconds * 1000);
    }
    let at = chrono::NaiveDateTime::parse_from_str(at, "%Y-%m-%dT%H:%M:%S").ok()?;
    Some(at.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_give_out_no_device_say_why() {
        let cases = [
            ("State=IDLE ThreadsPerCore=1", None),
            ("State=ALLOCATED", None),
            ("State=MIXED+PLANNED", None),
            ("State=IDLE+DRAIN", Some(WhyOutOfUse::Maintenance)),
            ("State=ALLOCATED+DRAIN", Some(WhyOutOfUse::Maintenance)),
            ("State=MAINT", Some(WhyOutOfUse::Maintenance)),
            ("State=DOWN", Some(WhyOutOfUse::Failed)),
            ("State=IDLE*", Some(WhyOutOfUse::Failed)),
            ("State=DOWN+NOT_RESPONDING", Some(WhyOutOfUse::Failed)),
            ("State=IDLE+REBOOT", Some(WhyOutOfUse::Reconfiguring)),
            ("no state at all", None),
        ];
        for (line, want) in cases {
            assert_eq!(out_of_use(line).map(|out| out.why), want, "{line}");
        }
    }

    #[test]
    fn the_operators_reason_and_its_time_are_kept() {
        let line =
            "NodeName=node1 State=IDLE+DRAIN CfgTRES=cpu=2 Reason=fan noise x=y [root@2026-11-30T09:44:11]";
        let out = out_of_use(line).expect("drained");
        assert_eq!(out.since_ms, Some(1_796_031_851_000));
        assert_eq!(out.reason, "IDLE+DRAIN: fan noise x=y [root@2026-11-30T09:44:11]");
        let by_epoch = out_of_use("State=DOWN Reason=gone [slurm@1796031851]").expect("down");
        assert_eq!(by_epoch.since_ms, Some(1_796_031_851_000));
    }
}
