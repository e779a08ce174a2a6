//! Puts the revision into `--version`: `SLICEMETER_REVISION` where a packager sets it, else git's.

fn main() {
    println!("cargo:rerun-if-env-changed=SLICEMETER_REVISION");
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    let git = || {
        let output =
            std::process::Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let revision = std::env::var("SLICEMETER_REVISION").ok().or_else(git).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=SLICEMETER_REVISION={revision}");
}
