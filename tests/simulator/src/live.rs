//! Real collector processes over the simulated library, in real time.
#![allow(unsafe_code)] // One `kill(2)`: std can only send SIGKILL, and a collector is to be stopped politely.

use crate::library::{Library, built};
use crate::node::NodeFiles;
use anyhow::{Context, Result};
use nvidia_ml::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `slicemeter-collector`.
pub struct Collector {
    child: Child,
    port: u16,
    dir: PathBuf,
}

/// How a live collector is set up.
pub struct Setup<'a> {
    /// Directory of its own.
    pub dir: &'a Path,
    /// Cluster's name.
    pub cluster: &'a str,
    /// Service to ship to, with a credential that it gave; without one, batches stay in the spool.
    pub server: Option<(&'a str, &'a str)>,
    /// More lines of `collector.toml`: other tables than `node`, `nvml`, `owner`, `spool`, `server`, `http`.
    pub more: &'a str,
}

impl Collector {
    /// Starts a collector on `scenario`; its t = 0 is the scenario's start, so it goes on where a virtual node ended.
    ///
    /// # Errors
    /// The program isn't built, or `dir` can't be written.
    pub fn start(setup: &Setup, scenario: &Scenario) -> Result<Self> {
        let dir = setup.dir;
        let files = NodeFiles::write(dir, scenario)?;
        let library = Library::copy_into(dir)?.path().to_path_buf();
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut config = format!(
            "[node]\ncluster = \"{}\"\nname = \"{}\"\n[nvml]\nlibrary = {library:?}\n[owner]\nprocfs = {:?}\n\
             [spool]\ndirectory = {:?}\n[http]\nlisten = \"127.0.0.1:{port}\"\n{}\n",
            setup.cluster,
            scenario.node,
            files.procfs,
            dir.join("state"),
            setup.more,
        );
        if let Some((url, credential)) = setup.server {
            let file = dir.join("credential");
            std::fs::write(&file, credential)?;
            config += &format!("[server]\nurl = \"{url}\"\ncredential_file = {file:?}\n");
        }
        std::fs::write(dir.join("collector.toml"), config)?;
        let mut collector = Self { child: spawn(dir, &files, scenario)?, port, dir: dir.to_path_buf() };
        collector.wait_alive()?;
        Ok(collector)
    }

    /// Port of its `/metrics`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("collector.log")).unwrap_or_default()
    }

    /// Its configuration file.
    pub fn config(&self) -> PathBuf {
        self.dir.join("collector.toml")
    }

    /// Asks it to stop, without waiting: several then stop side by side.
    pub fn ask_to_stop(&self) {
        signal_stop(&self.child);
    }

    /// Stops it politely, and waits.
    ///
    /// # Errors
    /// It can't be waited for.
    pub fn stop(&mut self) -> Result<()> {
        terminate(&mut self.child)
    }

    fn wait_alive(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                anyhow::bail!("slicemeter-collector ended with {status}:\n{}", self.log());
            }
            if crate::http::get(&format!("http://127.0.0.1:{}/healthz", self.port), None).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        anyhow::bail!("slicemeter-collector wasn't alive within 30 seconds:\n{}", self.log())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // The process may have ended already; nothing is left to do then.
        let _ = self.stop();
    }
}

fn spawn(dir: &Path, files: &NodeFiles, scenario: &Scenario) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(dir.join("collector.log"))?;
    let mut command = Command::new(built("slicemeter-collector")?);
    command
        .arg("run")
        .arg("--config")
        .arg(dir.join("collector.toml"))
        .env("FAKE_NVML_SCENARIO", &files.scenario)
        .env("FAKE_NVML_PROCFS", &files.procfs)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    if let Some(start_us) = scenario.start_us() {
        command.env("FAKE_NVML_T0_US", start_us.to_string());
    }
    command.spawn().context("start slicemeter-collector")
}

/// SIGTERM, ten seconds, then SIGKILL.
///
/// # Errors
/// The process can't be waited for.
pub fn terminate(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    signal_stop(child);
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn signal_stop(child: &Child) {
    let pid = i32::try_from(child.id()).expect("Linux's process ids end at 2^22");
    // SAFETY: a plain system call on the id of a child that hasn't been waited for, so it can't have been reused.
    unsafe { libc::kill(pid, libc::SIGTERM) };
}
