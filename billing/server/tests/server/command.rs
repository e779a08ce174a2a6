//! The command line, by its exit statuses: 0 done, 1 a finding, 2 wrong use, 3 cannot tell.

use crate::common::lab;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn slicemeter(config: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slicemeter"))
        .arg("--config")
        .arg(config)
        .args(arguments)
        .output()
        .expect("runs")
}

/// A configuration that finds the tests' engine.
pub(crate) fn configuration(name: &str, extra: &str) -> PathBuf {
    let directory = lab().data_dir.join(name);
    std::fs::create_dir_all(&directory).expect("made");
    let text = format!(
        "billing_zone = \"UTC\"\ncurrency = \"USD\"\n{extra}\n[engine]\ndata_dir = \"{}\"\n",
        lab().data_dir.display()
    );
    let file = directory.join("slicemeter.toml");
    std::fs::write(&file, text).expect("written");
    file
}

#[test]
fn exit_statuses_say_what_happened() {
    let config = configuration("cli", "");
    let code = |arguments: &[&str]| {
        let output = slicemeter(&config, arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(code(&["check-config"]).0, Some(0));
    assert_eq!(code(&["migrate"]).0, Some(0));
    assert_eq!(code(&["token", "create", "--role", "operator", "--name", "me"]).0, Some(0));
    assert_eq!(code(&["token", "revoke", "nobody"]).0, Some(2));
    assert_eq!(code(&["report", "--period", "octember"]).0, Some(2));
    let (status, said) = code(&["report", "--period", "2025-01"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("no hour of 2025-01 is published"), "{said}");
    assert_eq!(code(&["explain", "nonsense"]).0, Some(2));
}

#[test]
fn a_wrong_key_is_named_with_its_file() {
    let config = configuration("wrong", "colour = 1");
    let output = slicemeter(&config, &["check-config"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("slicemeter.toml") && said.contains("colour"), "{said}");
}

#[test]
fn tenants_are_checked_with_their_rules_and_their_currency() {
    let config = configuration("tenants", "");
    let write = |text: &str| std::fs::write(config.with_file_name("tenants.toml"), text).expect("written");
    let rules = "[[rule]]\ntenant = \"a\"\nmatch = { label = { team = \"a\" } }\n\
        [[rule]]\ntenant = \"b\"\nmatch = { namespace = \"b\" }\n";
    write(&format!("[[tenant]]\nid = \"a\"\nends = 2020-01-01\n[[tenant]]\nid = \"b\"\n{rules}"));
    let output = slicemeter(&config, &["tenants", "check"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("a  ended 2020-01-01") && said.contains("rule 1: label team = \"a\" -> a"),
        "{said}"
    );
    assert!(
        said.contains("note: rule 1 looks only at what users choose and is tried before rule 2"),
        "{said}"
    );

    write("[[tenant]]\nid = \"a\"\ncurrency = \"XXX\"\n");
    let output = slicemeter(&config, &["check-config"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("tenants.toml:1") && said.contains("ISO 4217"), "{said}");
}

#[test]
fn the_example_configuration_is_a_configuration() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("slicemeter.example.toml");
    server::config::load(&example).expect("the example loads");
}
