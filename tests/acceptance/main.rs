//! `make acceptance`: the figures that the project promises, from public production data and from scenarios of known
//! truth, through the shipped programs. One line a figure, the same in target/acceptance.json; exit 1 where one misses.
//! Named sections run alone (`slicemeter-acceptance accuracy`), and then nothing is written.

mod accuracy;
mod attribution;
mod captures;
mod focus;
mod gentd26;
mod openb;
mod trace;

use anyhow::Result;
use harness::figures::{Figures, Target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project");
    let mut figures = Figures::default();
    section(&mut figures, "attribution", attribution::run);
    section(&mut figures, "accuracy", |f| accuracy::run(f, root));
    match data_folder(root) {
        Some(data) => {
            section(&mut figures, "captures", |f| captures::run(f, &data.join("captures")));
            section(&mut figures, "gentd26", |f| gentd26::run(f, &data.join("alibaba")));
            section(&mut figures, "openb", |f| openb::run(f, &data.join("alibaba")));
            section(&mut figures, "focus", |f| {
                focus::run(f, &data.with_file_name("bin").join("focus-check"))
            });
        }
        None if !["captures", "gentd26", "openb", "focus"].into_iter().any(is_wanted) => {}
        None => {
            eprintln!(
                "acceptance: the public traces and FOCUS's validator are missing: put them at ../shared/data and ../shared/bin beside this checkout"
            );
            figures.add("data", "found", 0.0, "folder", Target::AtLeast(1.0));
        }
    }
    let (ok, missed) = figures.counts();
    if std::env::args().len() == 1
        && let Err(error) = write(&figures, &root.join("target"))
    {
        eprintln!("acceptance: can't write to {}: {error:#}", root.join("target").display());
        return ExitCode::FAILURE;
    }
    println!("{ok} passed, {missed} failed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write(figures: &Figures, target: &Path) -> Result<()> {
    let (ok, missed) = figures.counts();
    figures.write(&target.join("acceptance.json"))?;
    Ok(std::fs::write(target.join("acceptance-counts"), format!("{ok} {missed}\n"))?)
}

/// Whether a section was named, or none was.
fn is_wanted(name: &str) -> bool {
    std::env::args().len() == 1 || std::env::args().skip(1).any(|own| own == name)
}

/// A section that can't be run is a figure that misses its target, and doesn't stop the others.
fn section(figures: &mut Figures, name: &str, run: impl FnOnce(&mut Figures) -> Result<()>) {
    if !is_wanted(name) {
        return;
    }
    if let Err(error) = run(figures) {
        eprintln!("acceptance: {name}: {error:#}");
        figures.add(name, "completed", 0.0, "run", Target::AtLeast(1.0));
    }
}

fn data_folder(root: &Path) -> Option<PathBuf> {
    let data = root.parent()?.join("shared/data");
    data.is_dir().then_some(data)
}
