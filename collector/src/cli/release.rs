//! `release`: have the running collector let go of NVML.

use super::{CANNOT_TELL, WRONG_USE};
use collector::release::{RELEASE_S_MAX, Request, ask};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Options {
    /// For how long, seconds; the time counts as a gap with its reason.
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// Take NVML up again now.
    #[arg(long)]
    resume: bool,
    /// State directory of the running collector (spool.directory).
    #[arg(long, value_name = "DIR", default_value = "/var/lib/slicemeter-collector")]
    directory: PathBuf,
}

pub fn run(options: &Options) -> ExitCode {
    if !(1..=RELEASE_S_MAX).contains(&options.seconds) {
        eprintln!("--seconds: {} is out of range; take 1 to {RELEASE_S_MAX}", options.seconds);
        return ExitCode::from(WRONG_USE);
    }
    let request = if options.resume { Request::Resume } else { Request::Release(options.seconds) };
    match ask(&options.directory, request) {
        Ok(()) => {
            println!("{}", if options.resume { "taken up again" } else { "released" });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!(
                "{}: no collector answers there ({error}); name its state directory with --directory",
                options.directory.display()
            );
            ExitCode::from(CANNOT_TELL)
        }
    }
}
