//! `once`: one reading, for people and scripts. Two are taken a second apart, because activity needs a pair.

use super::{CANNOT_TELL, Place};
use collector::owner::{OwnerLookup, Procfs};
use collector::reading::{Gauges, NodeReading, Plan, Source};
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Options {
    /// Configuration file, for where NVML and /proc are.
    #[arg(long, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
    /// Print JSON, one document.
    #[arg(long)]
    json: bool,
}

/// GPM wants 100 ms between samples, utilisation a period of up to a second.
const BETWEEN: Duration = Duration::from_millis(1100);

pub fn run(options: &Options, place: &Place) -> ExitCode {
    let place = match place.with(options.config.as_deref()) {
        Ok(place) => place,
        Err(code) => return code,
    };
    let mut source = place.source();
    let plan = Plan { processes: true, slow_gauges: true, budget_us: u64::MAX };
    let mut reading = source.read(&plan);
    if reading.failed.is_none() {
        std::thread::sleep(BETWEEN);
        reading = source.read(&plan);
    }
    if let Some((reason, text)) = &reading.failed {
        eprintln!("{reason:?}: {text}; is the driver loaded? --nvml-library names another library");
        return ExitCode::from(CANNOT_TELL);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&reading).expect("a reading is plain data"));
    } else {
        let procfs = place.procfs.clone().unwrap_or_else(|| "/proc".into());
        let owners = Procfs::new(procfs, Some("/etc/passwd".into()));
        print(&reading, &mut owners.with_subuid(Some("/etc/subuid".into())));
    }
    ExitCode::SUCCESS
}

fn print(reading: &NodeReading, owners: &mut Procfs) {
    for device in &reading.devices {
        let id = &device.identity;
        println!("{} {} {} {}", id.index, id.uuid, id.model, id.pci_bus_id);
        match &device.outcome {
            Ok(gauges) => print_gauges(gauges, owners),
            Err(reason) => println!("  not readable: {reason:?}"),
        }
    }
    println!("{} NVML calls, {} us", reading.stats.calls, reading.stats.micros);
}

fn print_gauges(gauges: &Gauges, owners: &mut Procfs) {
    let mib = |bytes: u64| bytes >> 20;
    match gauges.utilization {
        Ok((percent, _)) => println!("  busy {percent} %"),
        Err(reason) => println!("  busy unknown ({reason:?})"),
    }
    if let (Ok(memory), Ok(power)) = (&gauges.memory, &gauges.power_mw) {
        println!(
            "  memory {} of {} MiB, power {:.1} W",
            mib(memory.used_bytes),
            mib(memory.total_bytes),
            f64::from(*power) / 1e3
        );
    }
    for instance in gauges.mig.iter().flatten() {
        let busy = instance
            .gpm
            .map_or_else(|reason| format!("unknown ({reason:?})"), |gpm| format!("{:.1} %", gpm.sm * 100.0));
        println!(
            "  MIG gi {} ci {} {} {} busy {busy}",
            instance.gpu_instance, instance.compute_instance, instance.profile, instance.uuid
        );
    }
    for vgpu in gauges.vgpus.iter().flatten() {
        println!("  vGPU {} {} of machine {}", vgpu.id, vgpu.type_name, vgpu.vm_id);
    }
    match &gauges.processes {
        Some(Ok(processes)) => {
            for process in processes {
                let found = owners.lookup(process.pid);
                let memory = process.memory_bytes.map_or("?".to_owned(), |bytes| mib(bytes).to_string());
                let place = process.gpu_instance.map_or(String::new(), |gi| format!(" gi {gi}"));
                let owner = &found.owner.owner;
                let attributes: Vec<String> =
                    owner.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
                println!(
                    "  pid {}{place} {memory} MiB {:?} {}",
                    process.pid,
                    owner.kind,
                    attributes.join(" ")
                );
            }
        }
        Some(Err(reason)) => println!("  processes unknown ({reason:?})"),
        None => {}
    }
}
