//! `check-config`: is this file good?

use super::{CONFIG, load};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Options {
    /// Configuration file.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
}

pub fn run(options: &Options) -> ExitCode {
    match load(&options.config) {
        Ok(_) => {
            println!("{}: ok", options.config.display());
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}
