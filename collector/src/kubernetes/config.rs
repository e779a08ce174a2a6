//! The `[kubernetes]` section of the collector's configuration.

use super::kept::Place;
use serde::Deserialize;
use std::path::PathBuf;

/// How the collector learns what Kubernetes gave to whom on this node. Everything has a default that fits a pod with
/// the kubelet's folder mounted and a service account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KubernetesConfig {
    /// Whether to ask at all: `auto` asks where the socket's folder or an API server is found.
    pub enabled: Enabled,
    /// The kubelet's PodResources socket. Its folder must be mounted, not the socket: a kubelet that restarts makes a
    /// new one.
    pub socket: PathBuf,
    /// Seconds between two lists from the kubelet. It answers 100 requests a second to all its clients together.
    pub poll_seconds: u32,
    /// Name of this node in the cluster; without it `NODE_NAME`, else the collector's own node name.
    pub node_name: Option<String>,
    /// Base URL of the API server; without it the one that Kubernetes tells pods of. `none` works without one: pods
    /// then have neither UID nor labels, and the collector says that it is degraded.
    pub api_server: Option<String>,
    /// Service account token; read anew for every request, because it rotates.
    pub token_file: PathBuf,
    /// Certificate authority of the API server, PEM.
    pub ca_file: PathBuf,
    /// Pod labels to carry with usage, by exact key. Empty carries none: a label that changes makes a new workload.
    pub pod_labels: Vec<String>,
    /// Namespace labels to carry with usage, by exact key.
    pub namespace_labels: Vec<String>,
    /// Names that the operator gave to GPU resources, besides `nvidia.com/gpu`, `nvidia.com/mig-*` and their `.shared`.
    pub resources: Vec<String>,
    /// DRA drivers whose devices are GPUs.
    pub dra_drivers: Vec<String>,
    /// Namespaces whose pods hold a GPU for a fractional scheduler (KAI, Run:ai). They pay nothing; the pods that were
    /// given fractions do.
    pub reservation_namespaces: Vec<String>,
    /// Whether a pod holds its devices from when the node accepted it (true), or from its first container's start. The
    /// device is taken either way while an image is pulled.
    pub pending_pods_hold: bool,
    /// Where holds are kept across starts; the collector sets it, no file does.
    #[serde(skip)]
    pub kept: Option<Place>,
}

/// Whether to ask Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enabled {
    /// Where the kubelet's folder or an API server is found.
    Auto,
    /// Always; not reaching it makes the collector not ready.
    On,
    /// Never.
    Off,
}

impl Default for KubernetesConfig {
    fn default() -> Self {
        let account = PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount");
        Self {
            enabled: Enabled::Auto,
            socket: "/var/lib/kubelet/pod-resources/kubelet.sock".into(),
            poll_seconds: 10,
            node_name: None,
            api_server: None,
            token_file: account.join("token"),
            ca_file: account.join("ca.crt"),
            pod_labels: Vec::new(),
            namespace_labels: Vec::new(),
            resources: Vec::new(),
            dra_drivers: vec!["gpu.nvidia.com".into()],
            reservation_namespaces: vec!["kai-resource-reservation".into(), "runai-reservation".into()],
            pending_pods_hold: true,
            kept: None,
        }
    }
}

/// Longest and shortest pause between two lists, seconds.
const POLL_SECONDS: std::ops::RangeInclusive<u32> = 1..=300;

/// A setting that can't work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadConfig {
    /// A pause outside its bounds.
    #[error("{0} s is no pause between two lists")]
    PollSeconds(u32),
    /// A base URL of another scheme.
    #[error("{0:?} is no URL")]
    ApiServer(String),
}

impl BadConfig {
    /// The key.
    pub fn key(&self) -> &'static str {
        match self {
            BadConfig::PollSeconds(_) => "kubernetes.poll_seconds",
            BadConfig::ApiServer(_) => "kubernetes.api_server",
        }
    }

    /// What would be right.
    pub fn remedy(&self) -> &'static str {
        match self {
            BadConfig::PollSeconds(_) => "take 1 to 300",
            BadConfig::ApiServer(_) => "start it with https:// or http://, or write \"none\"",
        }
    }
}

impl KubernetesConfig {
    /// Checks what the types can't.
    ///
    /// # Errors
    /// The first setting that can't work, named with its remedy.
    pub fn check(&self) -> Result<(), BadConfig> {
        if !POLL_SECONDS.contains(&self.poll_seconds) {
            return Err(BadConfig::PollSeconds(self.poll_seconds));
        }
        match self.api_server.as_deref() {
            None | Some("none") => Ok(()),
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => Ok(()),
            Some(url) => Err(BadConfig::ApiServer(url.to_owned())),
        }
    }

    /// Base URL of the API server: the setting's, else the environment's of a pod; `None` where there is none.
    pub fn api_url(&self, env: impl Fn(&str) -> Option<String>) -> Option<String> {
        match self.api_server.as_deref() {
            Some("none") => None,
            Some(url) => Some(url.trim_end_matches('/').to_owned()),
            None => {
                let host = env("KUBERNETES_SERVICE_HOST")?;
                let port = env("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".into());
                let host = if host.contains(':') { format!("[{host}]") } else { host };
                Some(format!("https://{host}:{port}"))
            }
        }
    }

    /// Whether there is anything to ask, given the environment.
    pub fn is_wanted(&self, env: impl Fn(&str) -> Option<String>) -> bool {
        match self.enabled {
            Enabled::On => true,
            Enabled::Off => false,
            Enabled::Auto => {
                self.socket.parent().is_some_and(std::path::Path::is_dir) || self.api_url(env).is_some()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_and_unknown_keys_refused() {
        let parse = |text: &str| toml::from_str::<KubernetesConfig>(text);
        assert_eq!(parse("").expect("empty"), KubernetesConfig::default());
        assert!(parse("sokcet = \"/x\"").expect_err("refused").to_string().contains("sokcet"));
        assert_eq!(parse("poll_seconds = 0").expect("parses").check(), Err(BadConfig::PollSeconds(0)));
        assert!(parse("api_server = \"ftp://x\"").expect("parses").check().is_err());
    }

    #[test]
    fn the_api_server_is_the_settings_or_the_pods_own() {
        let env = |key: &str| match key {
            "KUBERNETES_SERVICE_HOST" => Some("fd00::1".to_owned()),
            _ => None,
        };
        let config = KubernetesConfig::default();
        assert_eq!(config.api_url(env).as_deref(), Some("https://[fd00::1]:443"));
        assert_eq!(config.api_url(|_| None), None);
        let none = KubernetesConfig { api_server: Some("none".into()), ..config };
        assert_eq!(none.api_url(env), None);
    }
}
