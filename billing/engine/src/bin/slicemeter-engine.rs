//! The engine process by itself, for tests and for use by hand: options come as one line of JSON on
//! standard input (`engine::child::Options`). The service's own `slicemeter engine` is the same
//! process with arguments.

use std::process::ExitCode;

fn main() -> ExitCode {
    match engine::child::run_from_stdin() {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("slicemeter-engine: {error}");
            ExitCode::from(2)
        }
    }
}
