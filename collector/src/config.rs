//! The configuration file: one struct per concern, every setting with its meaning, unit and default. Unknown keys are
//! refused, contradictions stop the start, and every error names the file, the key and what to do.

mod containers;
mod dcgm;
mod error;
mod mps;
mod slurm;

pub use containers::Containers;
pub use dcgm::Dcgm;
pub use error::ConfigError;
pub use mps::Mps;
pub use slurm::Slurm;

use crate::kubernetes::KubernetesConfig;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Everything that a collector can be told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Who this node is.
    pub node: Node,
    /// How it is sampled.
    #[serde(default)]
    pub sample: Sample,
    /// Where NVML is.
    #[serde(default)]
    pub nvml: Nvml,
    /// Where owners are read.
    #[serde(default)]
    pub owner: Owner,
    /// Where the host's memory is read.
    #[serde(default)]
    pub host: Host,
    /// What Kubernetes is asked.
    #[serde(default)]
    pub kubernetes: KubernetesConfig,
    /// Where batches wait.
    #[serde(default)]
    pub spool: Spool,
    /// Where batches go; without it they stay in the spool until it is full.
    pub server: Option<Server>,
    /// How Slurm is asked; without it, it isn't.
    pub slurm: Option<Slurm>,
    /// How MPS control daemons are asked; without it, they aren't.
    pub mps: Option<Mps>,
    /// The DCGM exporter that is read; without it, none is.
    pub dcgm: Option<Dcgm>,
    /// Whether Docker and Podman are asked about containers; without it, they aren't.
    pub containers: Option<Containers>,
    /// What is served on the node.
    #[serde(default)]
    pub http: Http,
}

/// Who this node is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name of the cluster; one service meters many.
    pub cluster: String,
    /// Name of the node; the host name by default.
    pub name: Option<String>,
}

/// What busy means outside MIG on devices that measure SM activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusySource {
    /// Time with a kernel resident: what every device has, so that devices can be compared.
    #[default]
    KernelResident,
    /// Share of SMs that were active, on Hopper and newer.
    SmActive,
}

/// How it is sampled.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sample {
    /// Period of gauges, utilisation and GPM, milliseconds. Below 1000 the driver's lock is felt by workloads.
    pub gauges_ms: u64,
    /// Period of process lists, milliseconds: a whole multiple of `gauges_ms`. A list costs about 5 ms of the driver's lock.
    pub processes_ms: u64,
    /// Length of a window, milliseconds; it divides 15 minutes.
    pub window_ms: u64,
    /// What busy means outside MIG: `kernel_resident` or `sm_active`.
    pub busy: BusySource,
    /// NVML time per tick, milliseconds, after which the remaining process lists wait for the next tick.
    pub nvml_budget_ms: u64,
    /// Age at which an NVML call counts as hung, milliseconds.
    pub call_deadline_ms: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            gauges_ms: 5_000,
            processes_ms: 10_000,
            window_ms: 60_000,
            busy: BusySource::default(),
            nvml_budget_ms: 1_000,
            call_deadline_ms: 10_000,
        }
    }
}

/// Where NVML is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Nvml {
    /// Path of the library; `libnvidia-ml.so.1` as the loader finds it by default.
    pub library: Option<PathBuf>,
}

/// Where owners are read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Owner {
    /// The host's `/proc`.
    pub procfs: PathBuf,
    /// File with user names.
    pub passwd: Option<PathBuf>,
    /// File that says whose the user ids of rootless containers are.
    pub subuid: Option<PathBuf>,
    /// Folder in which libvirt keeps the state of running machines: their names by UUID. Not there, nothing is read.
    pub libvirt_directory: PathBuf,
}

impl Default for Owner {
    fn default() -> Self {
        Self {
            procfs: "/proc".into(),
            passwd: Some("/etc/passwd".into()),
            subuid: Some("/etc/subuid".into()),
            libvirt_directory: "/run/libvirt/qemu".into(),
        }
    }
}

/// Where the host's memory is read: only where it has NUMA nodes without processors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The host's `/sys`, with its control groups of version 2 in `fs/cgroup`.
    pub sysfs: PathBuf,
}

impl Default for Host {
    fn default() -> Self {
        Self { sysfs: "/sys".into() }
    }
}

/// Where batches wait.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spool {
    /// State directory: spool, credential, control socket.
    pub directory: PathBuf,
    /// Bytes that the spool may take; then the oldest segment goes first, and is counted. 256 MiB hold 7 days of 8 GPUs.
    pub bytes_max: u64,
    /// Bytes of one segment file: the unit of dropping.
    pub segment_bytes_max: u64,
}

impl Default for Spool {
    fn default() -> Self {
        Self {
            directory: "/var/lib/slicemeter-collector".into(),
            bytes_max: 256 << 20,
            segment_bytes_max: 4 << 20,
        }
    }
}

/// Where batches go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Base URL of the service, such as `https://slicemeter.example.org`.
    pub url: String,
    /// File with the join token that enrols this node once.
    pub join_token_file: Option<PathBuf>,
    /// File with the credential; in the state directory by default, where enrolment puts it.
    pub credential_file: Option<PathBuf>,
}

/// What is served on the node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Address and port of `/metrics`, `/metrics/dcgm`, `/healthz` and `/readyz`.
    pub listen: std::net::SocketAddr,
    /// Label of the node's name on `/metrics/dcgm`: `Hostname` as exporters before 4.9 had it, or `hostname`.
    pub dcgm_host_label: String,
}

impl Default for Http {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 9409).into(), dcgm_host_label: "Hostname".into() }
    }
}

/// Cadence and budget, as the sampler takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence {
    /// Period of gauges, milliseconds.
    pub gauges_ms: i64,
    /// Period of process lists, milliseconds.
    pub processes_ms: i64,
    /// Window, milliseconds.
    pub window_ms: i64,
    /// NVML time per tick, microseconds.
    pub budget_us: u64,
}

impl Sample {
    /// The cadence in the sampler's units.
    pub fn cadence(&self) -> Cadence {
        let ms = |value: u64| i64::try_from(value).expect("validated to be at most an hour");
        Cadence {
            gauges_ms: ms(self.gauges_ms),
            processes_ms: ms(self.processes_ms),
            window_ms: ms(self.window_ms),
            budget_us: self.nvml_budget_ms * 1000,
        }
    }
}

/// An hour and a quarter of one in milliseconds.
const HOUR_MS: u64 = 3_600_000;
const QUARTER_MS: u64 = HOUR_MS / 4;

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It can't be read, holds an unknown key, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { file: file.clone(), source })?;
        Self::parse(&text, &file)
    }

    /// Parses and checks a text that came from `file`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)
            .map_err(|error| ConfigError::Parse { file: file.into(), message: error.to_string() })?;
        config.check(file)?;
        Ok(config)
    }

    fn check(&self, file: &str) -> Result<(), ConfigError> {
        let wrong = |key, problem: String, remedy| {
            Err(ConfigError::Value { file: file.into(), key, problem, remedy })
        };
        let sample = &self.sample;
        if self.node.cluster.is_empty() {
            return wrong("node.cluster", "it is empty".into(), "name the cluster that the node belongs to");
        }
        if sample.gauges_ms == 0 || sample.gauges_ms > HOUR_MS {
            return wrong(
                "sample.gauges_ms",
                format!("{} is no period", sample.gauges_ms),
                "take 1000 to 3600000",
            );
        }
        if !sample.processes_ms.is_multiple_of(sample.gauges_ms)
            || sample.processes_ms == 0
            || sample.processes_ms > HOUR_MS
        {
            let problem =
                format!("{} isn't a multiple of sample.gauges_ms, {}", sample.processes_ms, sample.gauges_ms);
            return wrong(
                "sample.processes_ms",
                problem,
                "take a whole multiple of sample.gauges_ms, at most an hour",
            );
        }
        if sample.window_ms == 0 || !QUARTER_MS.is_multiple_of(sample.window_ms) {
            let problem = format!("{} doesn't divide 15 minutes", sample.window_ms);
            return wrong("sample.window_ms", problem, "take 60000, 300000 or 900000");
        }
        if self.spool.segment_bytes_max > self.spool.bytes_max / 2 || self.spool.segment_bytes_max < 64 << 10
        {
            let problem = format!("{} bytes", self.spool.segment_bytes_max);
            return wrong(
                "spool.segment_bytes_max",
                problem,
                "take at least 65536 and at most half of spool.bytes_max",
            );
        }
        if let Some(server) = &self.server
            && !(server.url.starts_with("http://") || server.url.starts_with("https://"))
        {
            return wrong(
                "server.url",
                format!("{:?} is no URL", server.url),
                "start it with https:// or http://",
            );
        }
        if let Err(bad) = self.kubernetes.check() {
            return wrong(bad.key(), bad.to_string(), bad.remedy());
        }
        if let Some((key, problem, remedy)) = self.slurm.as_ref().and_then(Slurm::problem) {
            return wrong(key, problem, remedy);
        }
        if let Some((key, problem, remedy)) = self.mps.as_ref().and_then(Mps::problem) {
            return wrong(key, problem, remedy);
        }
        if let Some((key, problem, remedy)) = self.dcgm.as_ref().and_then(Dcgm::problem) {
            return wrong(key, problem, remedy);
        }
        if let Some((key, problem, remedy)) = self.containers.as_ref().and_then(Containers::problem) {
            return wrong(key, problem, remedy);
        }
        if !matches!(self.http.dcgm_host_label.as_str(), "Hostname" | "hostname") {
            return wrong(
                "http.dcgm_host_label",
                format!("{:?}", self.http.dcgm_host_label),
                "take Hostname or hostname",
            );
        }
        Ok(())
    }

    /// What works but is worth a warning.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.sample.gauges_ms < 1000 {
            warnings.push("sample.gauges_ms is below a second: workloads feel the driver's lock".to_owned());
        }
        if self.server.is_none() {
            warnings.push("there is no [server]: batches stay in the spool until it is full".to_owned());
        }
        if self.server.as_ref().is_some_and(|server| server.url.starts_with("http://")) {
            warnings.push("server.url isn't https: the credential travels in the clear".to_owned());
        }
        warnings.extend(self.pod_warning(|name| std::env::var(name).ok()));
        warnings
    }

    /// The node's name: as configured, else as Kubernetes tells the collector's pod, else the host's.
    pub fn node_name(&self) -> String {
        let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        self.told_name(|name| std::env::var(name).ok()).unwrap_or_else(host)
    }

    /// The name that somebody gave the node, not asking the host: a pod's host name is the pod's own.
    fn told_name(&self, env: impl Fn(&str) -> Option<String> + Copy) -> Option<String> {
        let of_pod = || env("NODE_NAME").filter(|name| !name.is_empty() && self.kubernetes.is_wanted(env));
        self.node.name.clone().or_else(of_pod)
    }

    /// What of a pod's environment is worth a warning.
    fn pod_warning(&self, env: impl Fn(&str) -> Option<String> + Copy) -> Option<String> {
        let in_pod = env("KUBERNETES_SERVICE_HOST").is_some();
        (in_pod && self.told_name(env).is_none()).then(|| {
            "neither node.name nor NODE_NAME is set: in a pod the host name is the pod's, a new one at each restart; set \
             NODE_NAME from spec.nodeName"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests;
