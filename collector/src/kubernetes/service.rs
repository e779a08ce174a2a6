//! The threads: one that asks the kubelet, one a mirror of the API server, one that joins both and publishes. Sampling
//! reads the board and never waits for any of them.

use super::api::Api;
use super::claims::{Claims, DRA_VERSIONS, wait_for_claims};
use super::cluster::{Namespaces, Pods, Shared, Slices, ThisNode};
use super::config::KubernetesConfig;
use super::devices::KnownDevices;
use super::health::{Health, STALE_MS, Source};
use super::holds::holds;
use super::kept::KeptFile;
use super::kubelet::{Latest, Poller};
use super::ledger::{Instant, Ledger};
use super::owners;
use super::pod::PodFacts;
use super::podresources::{BadSocket, GpuNames, Kubelet};
use super::watch::{Kind, Mirror, Mirroring, Stop};
use crate::allocation::{Allocations, Board};
use std::sync::Arc;
use std::time::Duration;

/// The wall clock, Unix milliseconds.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// What a running witness shows.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    /// Who holds what, and who owners are.
    pub board: Board,
    /// How its sources are doing.
    pub health: Health,
    /// The node's devices, which the sampler tells: shares of memory need their size.
    pub devices: KnownDevices,
}

/// Running threads; dropping it ends them.
pub struct Running {
    stop: Stop,
    end_kubelet: Option<tokio::sync::oneshot::Sender<()>>,
    joined: Vec<std::thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        drop(self.end_kubelet.take());
        // Mirrors sit in reads that only the server ends; they hold nothing and aren't waited for.
        for thread in self.joined.drain(..) {
            drop(thread.join());
        }
    }
}

/// Why the threads didn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The socket's path is no address.
    #[error(transparent)]
    Socket(#[from] BadSocket),
    /// The system refused a thread or a runtime.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}

/// Stack of a thread: JSON parsing is the deepest that happens on one.
const STACK_BYTES: usize = 1 << 20;

/// Least time between two publications: pods that churn cost one a second, not one each.
const SETTLE: Duration = Duration::from_secs(1);

/// A publication without a change, so that its instant moves on.
const REFRESH: Duration = Duration::from_secs(10);

/// Starts to witness what Kubernetes gives out on `node`; `api_url` is `None` where there is no API server to ask.
///
/// # Errors
/// A path that is no socket's, or no thread to be had.
pub fn start(
    config: KubernetesConfig,
    node: &str,
    api_url: Option<String>,
    witness: &Witness,
    clock: &Clock,
) -> Result<Running, StartError> {
    let config = Arc::new(config);
    let shared = Shared::default();
    let latest = Latest::default();
    let stop = Stop::default();
    let api = api_url.map(|url| Api::new(url, &config));
    shared.change(|cluster| cluster.namespaces_synced = config.namespace_labels.is_empty());
    let (end_kubelet, ended) = tokio::sync::oneshot::channel();
    let mut joined = vec![kubelet_thread(&config, &latest, &shared, witness, clock, ended)?];
    if let Some(api) = &api {
        let spawner = Spawner {
            api: api.clone(),
            health: witness.health.clone(),
            clock: clock.clone(),
            stop: stop.clone(),
        };
        mirrors(&spawner, node, &config, &shared, &latest)?;
    }
    let publisher = Publisher {
        has_api: api.is_some(),
        config,
        shared,
        latest,
        witness: witness.clone(),
        clock: clock.clone(),
        stop: stop.clone(),
    };
    joined.push(thread("kube-publish", move || publisher.run())?);
    Ok(Running { stop, end_kubelet: Some(end_kubelet), joined })
}

fn thread(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(run)
        .map_err(StartError::Thread)
}

fn kubelet_thread(
    config: &KubernetesConfig,
    latest: &Latest,
    shared: &Shared,
    witness: &Witness,
    clock: &Clock,
    ended: tokio::sync::oneshot::Receiver<()>,
) -> Result<std::thread::JoinHandle<()>, StartError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Thread)?;
    let kubelet = {
        let _inside = runtime.enter();
        Kubelet::new(&config.socket)?
    };
    let poller = Poller {
        kubelet,
        names: GpuNames { resources: config.resources.clone(), drivers: config.dra_drivers.clone() },
        pause: Duration::from_secs(config.poll_seconds.into()),
        latest: latest.clone(),
        shared: shared.clone(),
        health: witness.health.clone(),
        now_ms: clock.clone(),
    };
    thread("kube-kubelet", move || {
        runtime.block_on(async {
            tokio::select! {
                () = poller.run() => {}
                _ = ended => {}
            }
        });
        // A kubelet that is in the middle of an answer isn't waited for.
        runtime.shutdown_background();
    })
}

struct Spawner {
    api: Api,
    health: Health,
    clock: Clock,
    stop: Stop,
}

impl Spawner {
    fn mirror<T>(&self, kind: Kind, mut into: impl Mirror<T> + 'static) -> Result<(), StartError>
    where
        T: super::objects::Versioned + serde::de::DeserializeOwned,
    {
        let (api, health, clock, stop) =
            (self.api.clone(), self.health.clone(), self.clock.clone(), self.stop.clone());
        let name = format!("kube-{}", kind.source.label());
        thread(&name, move || {
            let mirroring =
                Mirroring { api: &api, kind: &kind, health: &health, now_ms: &*clock, stop: &stop };
            mirroring.run(&mut into);
        })?;
        Ok(())
    }
}

fn mirrors(
    spawner: &Spawner,
    node: &str,
    config: &Arc<KubernetesConfig>,
    shared: &Shared,
    latest: &Latest,
) -> Result<(), StartError> {
    let kind = |source, path: &str, field_selector| Kind {
        source,
        paths: vec![path.into()],
        field_selector,
        metadata_only: false,
    };
    let on_node = Some(format!("spec.nodeName%3D{node}"));
    let pods = Pods {
        shared: shared.clone(),
        config: config.clone(),
        now_ms: spawner.clock.clone(),
        heard_ms: (spawner.clock)(),
    };
    spawner.mirror(kind(Source::Pods, "/api/v1/pods", on_node.clone()), pods)?;
    let named = Some(format!("metadata.name%3D{node}"));
    spawner.mirror(kind(Source::Node, "/api/v1/nodes", named), ThisNode(shared.clone()))?;
    if !config.namespace_labels.is_empty() {
        let namespaces = Namespaces { shared: shared.clone(), keys: config.namespace_labels.clone() };
        let kind = Kind { metadata_only: true, ..kind(Source::Namespaces, "/api/v1/namespaces", None) };
        spawner.mirror(kind, namespaces)?;
    }
    let claims = Claims {
        api: spawner.api.clone(),
        shared: shared.clone(),
        latest: latest.clone(),
        health: spawner.health.clone(),
        clock: spawner.clock.clone(),
        stop: spawner.stop.clone(),
    };
    let (api, health, clock, stop) =
        (spawner.api.clone(), spawner.health.clone(), spawner.clock.clone(), spawner.stop.clone());
    let (shared, latest) = (shared.clone(), latest.clone());
    let slices = Kind {
        source: Source::Slices,
        paths: DRA_VERSIONS
            .iter()
            .map(|version| format!("/apis/resource.k8s.io/{version}/resourceslices"))
            .collect(),
        field_selector: on_node,
        metadata_only: false,
    };
    thread("kube-slices", move || {
        // A cluster without DRA isn't asked for it: the kubelet tells when there is any.
        if wait_for_claims(&shared, &latest, &stop) {
            let mirroring =
                Mirroring { api: &api, kind: &slices, health: &health, now_ms: &*clock, stop: &stop };
            mirroring.run(&mut Slices(shared.clone()));
        }
    })?;
    thread("kube-claims", move || claims.run())?;
    Ok(())
}

/// A list older than this is a kubelet that doesn't answer, milliseconds.
const LIST_OLD_MS: i64 = 60_000;

/// Up to when holds are known. Only the kubelet tells of a new one; while it is silent, the API server's word that a pod
/// lives is enough for the devices that it was seen to hold.
fn known_until_ms(listed_ms: Option<i64>, api_ms: Option<i64>, now_ms: i64) -> i64 {
    match listed_ms {
        Some(listed_ms) if now_ms - listed_ms <= LIST_OLD_MS => listed_ms,
        _ => listed_ms.max(api_ms).unwrap_or(0),
    }
}

struct Publisher {
    has_api: bool,
    config: Arc<KubernetesConfig>,
    shared: Shared,
    latest: Latest,
    witness: Witness,
    clock: Clock,
    stop: Stop,
}

impl Publisher {
    fn run(self) {
        let opened = self.config.kept.as_ref().map(KeptFile::open);
        let (mut file, kept) = opened.map_or((None, Vec::new()), |(file, kept)| (Some(file), kept));
        let mut ledger = Ledger::restored(kept, (self.clock)());
        let mut kept_of_ms = None;
        while !self.stop.is_stopped() {
            let seen = self.shared.generation();
            let listed_ms = self.publish(&mut ledger);
            // Once a list: whatever else comes and goes in between is known to the API server.
            if listed_ms != kept_of_ms {
                kept_of_ms = listed_ms;
                self.keep(file.as_mut(), &ledger);
            }
            if self.stop.wait(SETTLE) {
                break;
            }
            self.shared.wait(seen, REFRESH);
        }
        self.keep(file.as_mut(), &ledger);
    }

    fn keep(&self, file: Option<&mut KeptFile>, ledger: &Ledger) {
        let Some(file) = file else { return };
        let known_until_ms = self.witness.board.current().known_until_ms;
        let holds = ledger.kept(known_until_ms, (self.clock)());
        let all = holds.len() as u64;
        let not_kept = file.keep(holds).unwrap_or_else(|error| {
            tracing::warn!(%error, "holds can't be kept in spool.directory; check its space and owner");
            all
        });
        self.witness.health.update(|counts| counts.not_kept = not_kept);
    }

    /// Publishes what is known now; when the kubelet last listed by it, Unix milliseconds.
    fn publish(&self, ledger: &mut Ledger) -> Option<i64> {
        let word = self.latest.get();
        let now_ms = (self.clock)();
        let health = &self.witness.health;
        let devices = self.witness.devices.get();
        let api_ms = health.counts().last_success_ms.get(&Source::Pods).copied();
        let is_api_fresh = api_ms.is_some_and(|at| now_ms - at <= STALE_MS);
        let (unresolved, owners, out_of_use) = self.shared.read(|cluster| {
            let found = holds(cluster, &word.view, &self.config, &|device| devices.memory_mib(device));
            // Without the completed ones, a list that lacks such a pod would end its hold, some seconds late.
            let departed = cluster.gone();
            let lives = |pod: &&PodFacts| is_api_fresh && pod.from_ms.is_some() && pod.to_ms.is_none();
            let living = cluster.pods.values().filter(lives).map(|pod| pod.uid.clone()).collect();
            let settled = !self.has_api || (cluster.pods_synced && cluster.namespaces_synced);
            let at =
                Instant { now_ms, listed_ms: word.listed_ms, settled, departed: &departed, living: &living };
            ledger.update(found.holds, at);
            health.update(|counts| counts.pods = cluster.pods.len() as u64);
            (found.unresolved, owners::by_cgroup(cluster), cluster.out_of_use.clone())
        });
        health.update(|counts| {
            counts.holds = ledger.open() as u64;
            counts.unresolved = unresolved;
        });
        let known_until_ms = known_until_ms(word.listed_ms, api_ms, now_ms);
        self.witness.board.publish(Allocations {
            source: "kubelet",
            known_until_ms: ledger.whole_until_ms(now_ms).map_or(known_until_ms, |at| at.min(known_until_ms)),
            held: ledger.allocations(),
            owners,
            out_of_use,
        });
        word.listed_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelets_word_counts_while_it_speaks_and_the_api_servers_after() {
        assert_eq!(known_until_ms(Some(100_000), Some(105_000), 106_000), 100_000);
        assert_eq!(known_until_ms(Some(100_000), Some(190_000), 200_000), 190_000);
        assert_eq!(known_until_ms(Some(100_000), None, 200_000), 100_000);
        assert_eq!(known_until_ms(None, None, 200_000), 0);
    }
}
