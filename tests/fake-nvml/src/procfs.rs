//! A directory kept as the node's `/proc`: what an identity resolver reads of each living process, and of the kernel.
//!
//! Start times are clock ticks since boot and `btime` is in whole seconds, as the kernel has it, so that the two add up
//! to the scenario's instants.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::{HostProcess, Model};
use crate::scenario::Process;

/// Length of a clock tick (`USER_HZ` is 100).
const TICK_US: i64 = 10_000;
/// A file that says that a directory is kept by this library.
const MARK: &str = ".fake-nvml";

/// A directory and what it holds.
#[derive(Debug)]
pub struct Procfs {
    dir: PathBuf,
    /// Epoch of the living processes that it shows.
    epoch: Option<usize>,
    /// Start of each process that it shows, by PID.
    shown: BTreeMap<u32, i64>,
}

impl Procfs {
    /// A directory that is made when it is first brought to an instant.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, epoch: None, shown: BTreeMap::new() }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Brings it to an instant; does nothing while the same processes live.
    pub fn sync(&mut self, model: &Model, now_us: i64) -> io::Result<()> {
        let epoch = model.hosts.epoch_at(now_us);
        if self.epoch == Some(epoch) {
            return Ok(());
        }
        let alive: BTreeMap<u32, &HostProcess> =
            model.hosts.alive_at(now_us).map(|process| (process.pid, process)).collect();
        if self.epoch.is_none() {
            self.write_kernel(model)?;
            self.remove_left(&alive)?;
        }
        let uptime_us = (now_us - model.boot_us).max(0);
        let uptime = format!("{}.{:02} 0.00\n", uptime_us / 1_000_000, uptime_us / TICK_US % 100);
        write(&self.dir, "uptime", &uptime)?;
        for (pid, start_us) in std::mem::take(&mut self.shown) {
            if alive.get(&pid).is_some_and(|process| process.start_us == start_us) {
                self.shown.insert(pid, start_us);
            } else {
                self.remove(pid)?;
            }
        }
        for (pid, process) in alive {
            if self.shown.insert(pid, process.start_us).is_none() {
                self.write_process(model, process)?;
            }
        }
        self.epoch = Some(epoch);
        Ok(())
    }

    /// Removes processes that an earlier library left and that don't live now; only from a directory that bears its mark,
    /// so that one named by mistake keeps what it holds.
    fn remove_left(&self, alive: &BTreeMap<u32, &HostProcess>) -> io::Result<()> {
        if !self.dir.join(MARK).exists() {
            return write(&self.dir, MARK, "");
        }
        for entry in fs::read_dir(&self.dir)? {
            let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.filter(|pid| !alive.contains_key(pid)) {
                self.remove(pid)?;
            }
        }
        Ok(())
    }

    fn remove(&self, pid: u32) -> io::Result<()> {
        match fs::remove_dir_all(self.dir.join(pid.to_string())) {
            // Another process that shares the directory was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn write_kernel(&self, model: &Model) -> io::Result<()> {
        let random = self.dir.join("sys/kernel/random");
        fs::create_dir_all(&random)?;
        write(&random, "boot_id", &format!("{}\n", model.boot_id))?;
        write(
            &self.dir,
            "stat",
            &format!("cpu  0 0 0 0 0 0 0 0 0 0\nbtime {}\n", model.boot_us.div_euclid(1_000_000)),
        )
    }

    fn write_process(&self, model: &Model, process: &HostProcess) -> io::Result<()> {
        let dir = self.dir.join(process.pid.to_string());
        fs::create_dir_all(&dir)?;
        let entry = &model.scenario.processes[process.entry];
        let comm = comm(entry);
        let btime_us = model.boot_us.div_euclid(1_000_000) * 1_000_000;
        let start_ticks = (process.start_us - btime_us).div_euclid(TICK_US);
        write(&dir, "stat", &stat(entry, &comm, start_ticks))?;
        write(&dir, "status", &status(entry, &comm))?;
        write(&dir, "cgroup", &entry.cgroup.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        write(&dir, "comm", &format!("{comm}\n"))?;
        write(&dir, "cmdline", &format!("{}\0", entry.name))?;
        write(
            &dir,
            "environ",
            &entry.environ.iter().map(|variable| format!("{variable}\0")).collect::<String>(),
        )?;
        write(&dir, "uid_map", &uid_map(entry))?;
        write(&dir, "loginuid", &entry.login_uid.unwrap_or(entry.uid).to_string())
    }
}

/// Written beside and renamed, so that a reader sees the old file or the new one, and two libraries that keep one
/// directory don't write into each other's files.
fn write(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    let beside = dir.join(format!(".{name}.{}", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(beside, dir.join(name))
}

/// The executable's name, as far as the kernel keeps it.
fn comm(process: &Process) -> String {
    process.name.rsplit('/').next().unwrap_or_default().chars().take(15).collect()
}

fn stat(process: &Process, comm: &str, start_ticks: i64) -> String {
    let (pid, ppid) = (process.pid, process.ppid);
    format!("{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 {start_ticks} 0 0 0\n")
}

/// The host's own user namespace where the scenario says of no other.
fn uid_map(process: &Process) -> String {
    let lines = match process.uid_map.as_slice() {
        [] => vec!["         0          0 4294967295".to_owned()],
        lines => lines.to_vec(),
    };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn status(process: &Process, comm: &str) -> String {
    let (pid, ppid, uid) = (process.pid, process.ppid, process.uid);
    let inner: String = process.ns_pids.iter().map(|pid| format!("\t{pid}")).collect();
    format!(
        "Name:\t{comm}\nState:\tS (sleeping)\nTgid:\t{pid}\nPid:\t{pid}\nPPid:\t{ppid}\n\
         Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t{uid}\t{uid}\t{uid}\t{uid}\nNStgid:\t{pid}{inner}\nNSpid:\t{pid}{inner}\n"
    )
}
