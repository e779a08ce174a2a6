//! The witness of Kubernetes over real sockets: a kubelet served by tonic on a Unix socket and an API server at the
//! HTTP level, both answering in the shapes of the real ones.

mod churn;
mod metering;
mod restarting;
mod stories;
mod watching;

use collector::allocation::Allocations;
use collector::kubernetes::{Clock, KubernetesConfig, Running, Witness, start};
use harness::kubernetes::api_server::ApiServer;
use schema::owner::key;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const GPU: &str = "GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee";
const MIG: &str = "MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55";

/// A witness of these two; `None` has no API server.
fn witness(
    dir: &Path,
    api: Option<&ApiServer>,
    change: impl FnOnce(&mut KubernetesConfig),
) -> (Witness, Running) {
    let mut config = KubernetesConfig {
        socket: dir.join("kubelet.sock"),
        poll_seconds: 1,
        token_file: dir.join("token"),
        pod_labels: vec!["team".into()],
        ..KubernetesConfig::default()
    };
    std::fs::write(&config.token_file, "secret\n").expect("token");
    change(&mut config);
    let witness = Witness::default();
    let clock: Clock = Arc::new(|| chrono::Utc::now().timestamp_millis());
    let running = start(config, "n1", api.map(ApiServer::url), &witness, &clock).expect("starts");
    (witness, running)
}

/// Holds as `pod/container share`, in order; ended ones with their length in seconds.
fn told(said: &Allocations) -> Vec<String> {
    let mut lines: Vec<String> = said
        .held
        .iter()
        .map(|held| {
            let of = |name: &str| held.owner.attributes.get(name).map_or("-", String::as_str);
            let ended =
                held.to_ms.map(|to| format!(" for {} s", (to - held.from_ms) / 1000)).unwrap_or_default();
            format!("{}/{} {}{ended}", of(key::POD), of("container"), held.share)
        })
        .collect();
    lines.sort();
    lines
}

/// Waits until the board says exactly this.
fn says(witness: &Witness, want: &[&str]) {
    let mut last = Vec::new();
    let until = Instant::now() + Duration::from_secs(60);
    while last != want {
        assert!(Instant::now() < until, "wanted {want:?}, last was {last:?}; {:?}", witness.health.counts());
        std::thread::sleep(Duration::from_millis(20));
        last = told(&witness.board.current());
    }
}
