//! `run`: the daemon.

use super::{CONFIG, Place, load};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Options {
    /// Configuration file; collector.example.toml lists every key.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
}

pub fn run(options: &Options, place: &Place) -> ExitCode {
    let config = match load(&options.config) {
        Ok(config) => place.over(config),
        Err(code) => return code,
    };
    match collector::agent::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error:#}", options.config.display());
            ExitCode::FAILURE
        }
    }
}
