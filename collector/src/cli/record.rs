//! `record`: raw readings to a file.

use super::{CANNOT_TELL, Place};
use collector::reading::{Plan, Source};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Options {
    /// File to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// How many readings.
    #[arg(long, value_name = "N", default_value_t = 12)]
    readings: u32,
    /// Milliseconds between them.
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    every_ms: u64,
}

pub fn run(options: &Options, place: &Place) -> ExitCode {
    match record(options, place) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(CANNOT_TELL),
        Err(error) => {
            eprintln!(
                "{}: {error}; name a new file in a folder that can be written to",
                options.output.display()
            );
            ExitCode::FAILURE
        }
    }
}

/// Whether the driver could be read.
fn record(options: &Options, place: &Place) -> std::io::Result<bool> {
    let mut file = BufWriter::new(File::create_new(&options.output)?);
    let mut source = place.source();
    let plan = Plan { processes: true, slow_gauges: true, budget_us: u64::MAX };
    let mut readable = false;
    for at in 0..options.readings {
        if at > 0 {
            std::thread::sleep(Duration::from_millis(options.every_ms));
        }
        let reading = source.read(&plan);
        readable |= reading.failed.is_none();
        serde_json::to_writer(&mut file, &reading)?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(readable)
}
