//! `make acceptance`: the figures that the project promises, from public production data and from scenarios of known
//! truth, through the shipped programs. One line a figure, the same in target/acceptance.json; exit 1 where one misses.

mod attribution;
mod captures;
mod gentd26;
mod trace;

use anyhow::Result;
use harness::figures::{Figures, Target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project");
    let mut figures = Figures::default();
    section(&mut figures, "attribution", attribution::run);
    match data_folder(root) {
        Some(data) => {
            section(&mut figures, "captures", |f| captures::run(f, &data.join("captures")));
            section(&mut figures, "gentd26", |f| gentd26::run(f, &data.join("alibaba")));
        }
        None => {
            eprintln!(
                "acceptance: the public traces are missing: put them at ../shared/data beside this checkout"
            );
            figures.add("data", "found", 0.0, "folder", Target::AtLeast(1.0));
        }
    }
    let (ok, missed) = figures.counts();
    let target = root.join("target");
    let written = figures
        .write(&target.join("acceptance.json"))
        .and_then(|()| Ok(std::fs::write(target.join("acceptance-counts"), format!("{ok} {missed}\n"))?));
    if let Err(error) = written {
        eprintln!("acceptance: can't write {}: {error:#}", target.display());
        return ExitCode::FAILURE;
    }
    println!("{ok} passed, {missed} failed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A section that can't be run is a figure that misses its target, and doesn't stop the others.
fn section(figures: &mut Figures, name: &str, run: impl FnOnce(&mut Figures) -> Result<()>) {
    if let Err(error) = run(figures) {
        eprintln!("acceptance: {name}: {error:#}");
        figures.add(name, "completed", 0.0, "run", Target::AtLeast(1.0));
    }
}

fn data_folder(root: &Path) -> Option<PathBuf> {
    let data = root.parent()?.join("shared/data");
    data.is_dir().then_some(data)
}
