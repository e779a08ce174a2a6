//! How each of Kubernetes' sources is doing: when it last answered, and how it failed. Counts only grow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where something is learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The kubelet's PodResources.
    Kubelet,
    /// Pods of the API server.
    Pods,
    /// Its namespaces.
    Namespaces,
    /// This node's object.
    Node,
    /// DRA's devices.
    Slices,
    /// DRA's claims.
    Claims,
}

impl Source {
    /// As a metric's label.
    pub fn label(self) -> &'static str {
        match self {
            Source::Kubelet => "kubelet",
            Source::Pods => "pods",
            Source::Namespaces => "namespaces",
            Source::Node => "node",
            Source::Slices => "resource_slices",
            Source::Claims => "resource_claims",
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// When each source last answered, Unix milliseconds.
    pub last_success_ms: BTreeMap<Source, i64>,
    /// Failures by source and reason.
    pub errors: BTreeMap<(Source, &'static str), u64>,
    /// Pods of this node that are known.
    pub pods: u64,
    /// Holds in force.
    pub holds: u64,
    /// Holds that the state directory lacks.
    pub not_kept: u64,
    /// Holds that couldn't be resolved now, by reason.
    pub unresolved: BTreeMap<&'static str, u64>,
    /// Device ids of no known form that were met.
    pub unknown_device_ids: u64,
}

/// The counts; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<Counts>>);

impl Health {
    /// A source answered.
    pub fn succeeded(&self, source: Source, now_ms: i64) {
        self.lock().last_success_ms.insert(source, now_ms);
    }

    /// A source failed.
    pub fn failed(&self, source: Source, reason: &'static str) {
        *self.lock().errors.entry((source, reason)).or_default() += 1;
    }

    /// Changes the counts.
    pub fn update(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.lock());
    }

    /// The counts as they are.
    pub fn counts(&self) -> Counts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A source that hasn't answered for so long is gone: three of the kubelet's lists at their slowest, and more than a
/// watch lasts.
pub const STALE_MS: i64 = 330_000;

/// What is missing, in one line each with its remedy; empty where all is well. `wants_api` is whether an API server is
/// configured.
pub fn degradations(counts: &Counts, wants_api: bool, now_ms: i64) -> Vec<String> {
    let is_fresh = |source| counts.last_success_ms.get(&source).is_some_and(|at| now_ms - at <= STALE_MS);
    let why = |source: Source| {
        let reasons: Vec<&str> =
            counts.errors.keys().filter(|(s, _)| *s == source).map(|(_, reason)| *reason).collect();
        if reasons.is_empty() { "no answer yet".to_owned() } else { reasons.join(", ") }
    };
    let mut missing = Vec::new();
    if !is_fresh(Source::Kubelet) {
        missing.push(format!(
            "kubelet PodResources ({}): held time comes from processes only; mount /var/lib/kubelet/pod-resources into the collector",
            why(Source::Kubelet)
        ));
    }
    if !wants_api {
        missing.push(
            "no API server: pods have neither UID nor labels; give the collector a service account"
                .to_owned(),
        );
    } else if !is_fresh(Source::Pods) {
        missing.push(format!(
            "API server's pods ({}): pods have neither UID nor labels; allow the service account to list and watch pods",
            why(Source::Pods)
        ));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_its_remedy() {
        let health = Health::default();
        health.failed(Source::Pods, "forbidden");
        health.succeeded(Source::Kubelet, 1_000);
        let said = degradations(&health.counts(), true, 2_000);
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("forbidden") && said[0].contains("list and watch pods"), "{said:?}");
        health.succeeded(Source::Pods, 2_000);
        assert!(degradations(&health.counts(), true, 2_000).is_empty());
        assert_eq!(
            degradations(&health.counts(), true, 2_000 + STALE_MS).len(),
            1,
            "the kubelet went silent"
        );
        assert!(degradations(&health.counts(), false, 2_000)[0].contains("service account"));
    }
}
