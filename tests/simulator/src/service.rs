//! A real central service as a child process, in a directory of its own, with the embedded engine.

use crate::http;
use crate::library::built;
use anyhow::{Context, Result, bail, ensure};
use collector::shipper::deliver;
use schema::wire::{Batch, Receipt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What differs between simulations.
pub struct Settings<'a> {
    /// IANA zone of the bill.
    pub billing_zone: &'a str,
    /// ISO 4217 code.
    pub currency: &'a str,
    /// Content of `prices.toml`.
    pub prices: &'a str,
    /// Content of `tenants.toml`.
    pub tenants: &'a str,
    /// Further lines of `slicemeter.toml`, keys before tables; empty for the defaults.
    pub more: &'a str,
}

/// A running service. Dropping it stops it and its engine.
pub struct Service {
    child: Child,
    dir: PathBuf,
    port: u16,
}

impl Service {
    /// Writes the configuration into `dir`, starts `slicemeter serve` and waits until it is ready.
    ///
    /// # Errors
    /// The program isn't built, or didn't become ready within a minute; its log is `dir/serve.log`.
    pub fn start(dir: &Path, settings: &Settings) -> Result<Self> {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        std::fs::write(
            dir.join("slicemeter.toml"),
            format!(
                "billing_zone = \"{}\"\ncurrency = \"{}\"\nlisten = \"127.0.0.1:{port}\"\nclose_interval_s = 1\n{}\
                 [engine]\ndata_dir = {:?}\nmemory_mib = 3072\n",
                settings.billing_zone,
                settings.currency,
                settings.more,
                dir.join("data"),
            ),
        )?;
        std::fs::write(dir.join("prices.toml"), settings.prices)?;
        std::fs::write(dir.join("tenants.toml"), settings.tenants)?;
        let child = spawn(dir)?;
        let mut service = Self { child, dir: dir.to_path_buf(), port };
        service.wait_ready()?;
        Ok(service)
    }

    /// Base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Process id of `slicemeter serve`.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The configuration file, for the command line.
    pub fn config(&self) -> PathBuf {
        self.dir.join("slicemeter.toml")
    }

    /// Runs `slicemeter ARGS --config ...` to its end.
    ///
    /// # Errors
    /// The program can't be started. Its exit code is in the output.
    pub fn cli(&self, args: &[&str]) -> Result<Output> {
        Ok(Command::new(built("slicemeter")?).args(args).arg("--config").arg(self.config()).output()?)
    }

    /// What a successful command prints.
    ///
    /// # Errors
    /// The command failed; the error has what it said.
    pub fn cli_ok(&self, args: &[&str]) -> Result<String> {
        let output = self.cli(args)?;
        ensure!(
            output.status.success(),
            "slicemeter {}: {}\n{}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A token that `slicemeter token create ARGS` makes: its last line of output.
    ///
    /// # Errors
    /// The command failed.
    pub fn token(&self, args: &[&str]) -> Result<String> {
        let printed = self.cli_ok(&[&["token", "create"], args].concat())?;
        Ok(printed.trim().lines().last().context("no token was printed")?.trim().to_string())
    }

    /// Sends batches until they are durable.
    ///
    /// # Errors
    /// The service refused them.
    pub fn ship(&self, credential: &str, batches: &[Batch]) -> Result<Receipt> {
        let encoded: Vec<Vec<u8>> = batches.iter().map(prost::Message::encode_to_vec).collect();
        Ok(deliver(&self.url(), credential, &encoded)?)
    }

    /// Waits until a round of the hour close that began after this call has gone through: every hour that had news is
    /// published then.
    ///
    /// # Errors
    /// It didn't within ten minutes.
    pub fn wait_closed(&self) -> Result<()> {
        let asked = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as f64;
        let deadline = Instant::now() + Duration::from_secs(600);
        while Instant::now() < deadline {
            let metrics = http::get(&format!("{}/metrics", self.url()), None)?;
            let closed = metrics
                .lines()
                .find_map(|l| l.strip_prefix("slicemeter_last_close_timestamp_seconds "))
                .context("the service doesn't say when it last closed")?;
            if closed.trim().parse::<f64>()? > asked {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("hours were not closed within ten minutes: see {}", self.dir.join("serve.log").display())
    }

    fn wait_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let url = format!("{}/readyz", self.url());
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                bail!("slicemeter serve ended with {status}:\n{}", self.log());
            }
            if http::get(&url, None).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("slicemeter serve wasn't ready within a minute:\n{}", self.log())
    }

    /// What it logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("serve.log")).unwrap_or_default()
    }

    /// Stops it as an operator would, and waits.
    ///
    /// # Errors
    /// It can't be waited for.
    pub fn stop(&mut self) -> Result<()> {
        crate::live::terminate(&mut self.child)
    }

    /// Starts it again on the same data.
    ///
    /// # Errors
    /// As [`Service::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.child = spawn(&self.dir)?;
        self.wait_ready()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The process may have ended already; nothing is left to do then.
        let _ = self.stop();
    }
}

fn spawn(dir: &Path) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(dir.join("serve.log"))?;
    Command::new(built("slicemeter")?)
        .arg("serve")
        .arg("--config")
        .arg(dir.join("slicemeter.toml"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("start slicemeter serve")
}
