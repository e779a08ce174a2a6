//! The collector's binary: parse, build, call.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    collector::device::forget_mps_view();
    cli.run()
}
