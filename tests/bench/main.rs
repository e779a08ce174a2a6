//! `make bench`: what the collector costs its node, beside a peer on the same simulated library, what its spool needs, and
//! how fast a large month is rated and read. One line a figure, the same in target/bench.json; exit 1 where one misses its target.

mod collector_cost;
mod cpu;
mod ledger;
mod library_cost;
mod node_dir;
mod page;
mod peer;
mod scenarios;
mod spool;

use anyhow::Result;
use harness::figures::{Figures, Target};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        None => bench(),
        Some(argument) if argument == library_cost::ARGUMENT => library_cost::child(arguments.next()),
        Some(argument) if argument == "ledger" => alone("ledger", ledger::run),
        Some(argument) => {
            eprintln!("slicemeter-bench takes `ledger` or no argument, not {}", argument.display());
            ExitCode::from(2)
        }
    }
}

/// One section alone; nothing is written.
fn alone(name: &str, run: impl FnOnce(&mut Figures, &Path) -> Result<()>) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project");
    let mut figures = Figures::default();
    section(&mut figures, name, |figures| run(figures, &root.join("target")));
    if figures.counts().1 == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn bench() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the project");
    let target = root.join("target");
    let mut figures = Figures::default();
    // The spool first: its virtual hour keeps a CPU and the disk busy, which the sections in real time must not feel.
    section(&mut figures, "spool", |figures| spool::run(figures, &target));
    section(&mut figures, "collector", collector_cost::run);
    section(&mut figures, "peer", peer::run);
    section(&mut figures, "ledger", |figures| ledger::run(figures, &target));
    let (ok, missed) = figures.counts();
    if let Err(error) = figures.write(&target.join("bench.json")) {
        eprintln!("bench: can't write {}: {error:#}", target.display());
        return ExitCode::FAILURE;
    }
    println!("{ok} passed, {missed} failed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A section that can't be run is a figure that misses its target, and doesn't stop the others.
fn section(figures: &mut Figures, name: &str, run: impl FnOnce(&mut Figures) -> Result<()>) {
    if let Err(error) = run(figures) {
        eprintln!("bench: {name}: {error:#}");
        figures.add(name, "completed", 0.0, "run", Target::AtLeast(1.0));
    }
}

/// A value as a figure shows it: three decimals are finer than any of these measurements.
fn shown(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
