//! What resource claims were given, asked of the API server one by one: a node uses few of a cluster's claims, and a
//! watch can't be limited to them.

use super::api::Api;
use super::cluster::Shared;
use super::dra;
use super::health::{Health, Source};
use super::kubelet::Latest;
use super::objects::ResourceClaim;
use super::service::Clock;
use super::watch::{Backoff, Stop};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long claims are waited for without any change.
const PAUSE: Duration = Duration::from_secs(10);

/// DRA's versions, the newest first.
pub const DRA_VERSIONS: [&str; 3] = ["v1", "v1beta2", "v1beta1"];

/// Waits for the kubelet to name a claim; false where the end came first.
pub fn wait_for_claims(shared: &Shared, latest: &Latest, stop: &Stop) -> bool {
    loop {
        let seen = shared.generation();
        if stop.is_stopped() {
            return false;
        }
        if latest.get().view.claim_names().next().is_some() {
            return true;
        }
        shared.wait(seen, PAUSE);
    }
}

/// Fetches what claims were given. That doesn't change while a claim lives, so each is asked for once.
pub struct Claims {
    /// Whom to ask.
    pub api: Api,
    /// Where claims go.
    pub shared: Shared,
    /// Which claims are used.
    pub latest: Latest,
    /// Where success and failure are counted.
    pub health: Health,
    /// The wall clock.
    pub clock: Clock,
    /// When to end.
    pub stop: Stop,
}

impl Claims {
    /// Fetches until told to stop.
    pub fn run(self) {
        if !wait_for_claims(&self.shared, &self.latest, &self.stop) {
            return;
        }
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        while !self.stop.is_stopped() {
            let seen = self.shared.generation();
            let word = self.latest.get();
            let wanted: BTreeSet<(String, String)> = word.view.claim_names().collect();
            let missing: Vec<&(String, String)> = self.shared.read(|cluster| {
                let lacks = |name: &&(String, String)| match cluster.claims.get(*name) {
                    None => true,
                    // Another claim of the same name by now.
                    Some(results) => word
                        .view
                        .claim_devices(name)
                        .any(|own| !results.iter().any(|r| r.device == own.device)),
                };
                wanted.iter().filter(lacks).collect()
            });
            let mut all_came = true;
            for name in &missing {
                all_came &= self.fetch(name);
            }
            let has_old =
                self.shared.read(|cluster| cluster.claims.keys().any(|name| !wanted.contains(name)));
            if has_old {
                self.shared.change(|cluster| cluster.claims.retain(|name, _| wanted.contains(name)));
            }
            if all_came {
                backoff.reset();
                self.shared.wait(seen, PAUSE);
            } else if self.stop.wait(backoff.pause()) {
                return;
            }
        }
    }

    fn fetch(&self, name: &(String, String)) -> bool {
        let mut failure = None;
        for version in DRA_VERSIONS {
            let path =
                format!("/apis/resource.k8s.io/{version}/namespaces/{}/resourceclaims/{}", name.0, name.1);
            match self.api.get::<ResourceClaim>(&path, "application/json") {
                Ok(claim) => {
                    self.health.succeeded(Source::Claims, (self.clock)());
                    let results = dra::results(&claim);
                    let is_given = results.is_some();
                    if let Some(results) = results {
                        self.shared.change(|cluster| drop(cluster.claims.insert(name.clone(), results)));
                    }
                    return is_given;
                }
                Err(error) if error.reason() == "not_found" => failure = Some(error),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        if let Some(error) = failure {
            self.health.failed(Source::Claims, error.reason());
        }
        false
    }
}
