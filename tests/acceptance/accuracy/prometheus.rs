//! A real Prometheus over samples of the past: `promtool` makes blocks of them, the server answers for them.

use super::case::{HOUR_S, START_MS};
use anyhow::{Context, Result, ensure};
use harness::probe::free_port;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server.
pub struct Prometheus {
    child: Child,
    url: String,
}

/// A query's label values and value.
pub type Answer = Vec<(Vec<String>, f64)>;

impl Prometheus {
    /// Loads samples (lines of OpenMetrics with timestamps) and serves them from `dir`.
    ///
    /// # Errors
    /// A tool is missing, refuses the samples, or doesn't come up.
    pub fn serve(dir: &Path, samples: &str) -> Result<Self> {
        let (file, data) = (dir.join("samples.om"), dir.join("data"));
        std::fs::write(&file, format!("{samples}# EOF\n"))?;
        let made = Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .args([&file, &data])
            .output()
            .context("promtool isn't installed: tests/setup.sh installs Debian's prometheus")?;
        ensure!(made.status.success(), "promtool: {}", String::from_utf8_lossy(&made.stderr));
        let config = dir.join("prometheus.yml");
        std::fs::write(&config, "global: {}\n")?;
        let port = free_port()?;
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", data.display()))
            // The samples are of a fixed day, however long ago that is.
            .args(["--storage.tsdb.retention.time=100y", "--log.level=error"])
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("prometheus isn't installed: tests/setup.sh installs it")?;
        let server = Self { child, url: format!("http://127.0.0.1:{port}") };
        let deadline = Instant::now() + Duration::from_secs(60);
        while ureq::get(format!("{}/-/ready", server.url)).call().is_err() {
            ensure!(Instant::now() < deadline, "{} wasn't ready within a minute", server.url);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// An instant query at the end of the hour: values by these labels.
    ///
    /// # Errors
    /// No answer, or another kind than a vector.
    pub fn by_labels(&self, query: &str, labels: &[&str]) -> Result<Answer> {
        let mut response = ureq::get(format!("{}/api/v1/query", self.url))
            .query("query", query)
            .query("time", (START_MS / 1000 + HOUR_S).to_string())
            .call()?;
        let answer: Value = serde_json::from_str(&response.body_mut().read_to_string()?)?;
        let rows = answer["data"]["result"].as_array().with_context(|| format!("{query}: {answer}"))?;
        rows.iter()
            .map(|row| {
                let names =
                    labels.iter().map(|name| row["metric"][*name].as_str().unwrap_or_default().to_owned());
                let value = row["value"][1].as_str().context("a value is a text")?.parse()?;
                Ok((names.collect(), value))
            })
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have gone already; its folder goes with its owner.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
