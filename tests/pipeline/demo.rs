//! The demo, as someone would run it who has never seen the project.

use simulator::library::built;
use std::process::Command;

#[test]
fn the_demo_ends_in_a_statement_and_leaves_nothing_behind() {
    let tmp = tempfile::tempdir().expect("a directory");
    let output = Command::new(built("slicemeter-demo").expect("built"))
        .args(["--once", "--days", "2"])
        .env("TMPDIR", tmp.path())
        .output()
        .expect("the demo starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    for expected in ["STATEMENT VIS-", "Where it went", "Proof", "First statement after"] {
        assert!(stdout.contains(expected), "{expected:?} is missing from:\n{stdout}");
    }
    let left: Vec<_> = std::fs::read_dir(tmp.path()).expect("still there").collect();
    assert!(left.is_empty(), "the demo left {left:?}");
    let ours = tmp.path().to_string_lossy().to_string();
    let running = Command::new("ps").args(["-eo", "args"]).output().expect("ps runs");
    assert!(
        !String::from_utf8_lossy(&running.stdout).contains(&ours),
        "a process of the demo is still running"
    );
}
