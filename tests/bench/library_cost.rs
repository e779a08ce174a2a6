//! What the simulated library itself keeps resident: it lies inside the collector's process, and isn't the product.

use crate::node_dir::NodeDir;
use anyhow::{Context, Result, ensure};
use harness::probe::resident_mib;
use nvidia_ml::scenario::Scenario;
use nvml_wrapper::Nvml;
use simulator::library::built_library;
use simulator::node::NodeFiles;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Makes this program the process that only loads the library, the path of which follows.
pub const ARGUMENT: &str = "--library-cost";

/// Resident MiB by which a process grows that loads the library, initialises it with `scenario` and asks for the
/// processes of each device once.
///
/// # Errors
/// The library isn't built, or refuses the scenario.
pub fn mib(scenario: &Scenario) -> Result<f64> {
    let dir = NodeDir::new()?;
    let files = NodeFiles::write(dir.path(), scenario)?;
    let output = Command::new(std::env::current_exe()?)
        .arg(ARGUMENT)
        .arg(built_library()?)
        .env("FAKE_NVML_SCENARIO", &files.scenario)
        .env("FAKE_NVML_PROCFS", &files.procfs)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the library's cost could not be measured: {said}");
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().with_context(|| format!("the library's cost is {text:?}"))
}

/// The process that only loads the library.
pub fn child(library: Option<OsString>) -> ExitCode {
    let grown = library.context("the library's path is missing").and_then(|path| grow(Path::new(&path)));
    match grown {
        Ok(mib) => {
            println!("{mib}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn grow(library: &Path) -> Result<f64> {
    let me = std::process::id();
    let before = resident_mib(me)?;
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init()?;
    for index in 0..nvml.device_count()? {
        nvml.device_by_index(index)?.running_compute_processes()?;
    }
    Ok(resident_mib(me)? - before)
}
