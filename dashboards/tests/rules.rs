//! The Prometheus rules, by Prometheus's own tool: they parse, and fire when they should and not before.

use std::process::Command;

fn promtool(arguments: &[&str]) -> String {
    let output = Command::new("promtool")
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prometheus"))
        .output()
        .expect("promtool is installed: run tests/setup.sh");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "promtool {arguments:?}: {said}");
    said
}

#[test]
fn rules_fire_when_they_should() {
    promtool(&["check", "rules", "--lint-fatal", "slicemeter.rules.yml"]);
    promtool(&["test", "rules", "slicemeter.test.yml"]);
}

#[test]
fn no_rule_sets_a_label_that_a_target_has() {
    let rules = include_str!("../prometheus/slicemeter.rules.yml");
    for label in ["job:", "instance:", "namespace:", "pod:"] {
        assert!(!rules.lines().any(|line| line.trim().starts_with(label)), "{label}");
    }
}
