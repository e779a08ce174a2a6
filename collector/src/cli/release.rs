//! `release`: have the running collector let go of NVML.

use super::{CANNOT_TELL, FINDING, WRONG_USE, load};
use collector::release::{Answer, RELEASE_S, RELEASE_S_MAX, Request, ask};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Options {
    /// For how long, seconds; the time counts as a gap with its reason.
    #[arg(long, value_name = "N", default_value_t = RELEASE_S)]
    seconds: u64,
    /// Take NVML up again now.
    #[arg(long)]
    resume: bool,
    /// Configuration of the running collector, for its state directory.
    #[arg(long, value_name = "FILE", conflicts_with = "directory")]
    config: Option<PathBuf>,
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
    let directory = match options.config.as_deref().map(load) {
        None => options.directory.clone(),
        Some(Ok(config)) => config.spool.directory,
        Some(Err(code)) => return code,
    };
    match ask(&directory, request) {
        Ok(Answer::Done) => {
            println!("{}", if options.resume { "taken up again" } else { "released" });
            ExitCode::SUCCESS
        }
        Ok(Answer::StillHeld) => {
            eprintln!(
                "NVML isn't used any more, but a call that hangs in the driver still holds it; stop the collector"
            );
            ExitCode::from(FINDING)
        }
        Err(error) => {
            eprintln!(
                "{}: no collector answers there ({error}); name its state directory with --directory",
                directory.display()
            );
            ExitCode::from(CANNOT_TELL)
        }
    }
}
