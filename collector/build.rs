//! Puts the git revision into the binary, so that a node can say what it runs.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=SLICEMETER_REVISION");
    println!("cargo:rerun-if-changed=../.git/HEAD");
    println!("cargo:rerun-if-changed=../.git/logs/HEAD");
    let of_git = || {
        let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let revision =
        std::env::var("SLICEMETER_REVISION").ok().or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=SLICEMETER_BUILD_REVISION={revision}");
}
