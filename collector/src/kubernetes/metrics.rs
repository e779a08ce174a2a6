//! `slicemeter_kubernetes_*`: how far the second witness can be trusted. Nothing is shown where it isn't asked.

use super::health::Health;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntCounterVec, IntGauge, IntGaugeVec, Opts};

/// Shows a witness's health at each scrape.
pub struct KubernetesMetrics {
    health: Health,
    last_success: GaugeVec,
    errors: IntCounterVec,
    unresolved: IntGaugeVec,
    unknown_ids: IntCounterVec,
    pods: IntGauge,
    holds: IntGauge,
}

impl KubernetesMetrics {
    /// Over this health.
    ///
    /// # Errors
    /// Never for the names that are written here.
    pub fn new(health: Health) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| Opts::new(format!("slicemeter_kubernetes_{name}"), help);
        let last_success =
            opts("last_success_timestamp_seconds", "When a source of Kubernetes last answered, Unix time.");
        let errors = opts("errors_total", "Failed questions to a source of Kubernetes, by reason.");
        let unresolved =
            opts("unresolved_holds", "Holds that can't be resolved to a device or share now, by reason.");
        let unknown = opts("unresolved_device_ids_total", "Device ids of no known form that were met.");
        let pods = opts("pods", "Pods of this node that the API server tells of.");
        let holds = opts("holds", "Holds of pods on devices of this node that are in force.");
        Ok(Self {
            health,
            last_success: GaugeVec::new(last_success, &["source"])?,
            errors: IntCounterVec::new(errors, &["source", "reason"])?,
            unresolved: IntGaugeVec::new(unresolved, &["reason"])?,
            unknown_ids: IntCounterVec::new(unknown, &[])?,
            pods: IntGauge::with_opts(pods)?,
            holds: IntGauge::with_opts(holds)?,
        })
    }

    fn parts(&self) -> [&dyn Collector; 6] {
        [&self.last_success, &self.errors, &self.unresolved, &self.unknown_ids, &self.pods, &self.holds]
    }
}

impl Collector for KubernetesMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.parts().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let counts = self.health.counts();
        for (source, at_ms) in &counts.last_success_ms {
            self.last_success.with_label_values(&[source.label()]).set(*at_ms as f64 / 1000.0);
        }
        for ((source, reason), total) in &counts.errors {
            let counter = self.errors.with_label_values(&[source.label(), reason]);
            counter.inc_by(total.saturating_sub(counter.get()));
        }
        self.unresolved.reset();
        for (reason, count) in &counts.unresolved {
            self.unresolved.with_label_values(&[reason]).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
        let unknown = self.unknown_ids.with_label_values::<&str>(&[]);
        unknown.inc_by(counts.unknown_device_ids.saturating_sub(unknown.get()));
        self.pods.set(i64::try_from(counts.pods).unwrap_or(i64::MAX));
        self.holds.set(i64::try_from(counts.holds).unwrap_or(i64::MAX));
        self.parts().into_iter().flat_map(Collector::collect).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::health::Source;
    use super::*;

    #[test]
    fn what_was_counted_is_shown_and_a_resolved_hold_vanishes() {
        let health = Health::default();
        let registry = prometheus::Registry::new();
        registry.register(Box::new(KubernetesMetrics::new(health.clone()).expect("names"))).expect("new");
        health.succeeded(Source::Kubelet, 1_500);
        health.failed(Source::Pods, "forbidden");
        health.update(|counts| counts.unresolved = [("claim_unknown", 2)].into());
        let text = || prometheus::TextEncoder::new().encode_to_string(&registry.gather()).expect("text");
        let shown = text();
        for line in [
            "slicemeter_kubernetes_last_success_timestamp_seconds{source=\"kubelet\"} 1.5",
            "slicemeter_kubernetes_errors_total{reason=\"forbidden\",source=\"pods\"} 1",
            "slicemeter_kubernetes_unresolved_holds{reason=\"claim_unknown\"} 2",
        ] {
            assert!(shown.contains(line), "{line} in\n{shown}");
        }
        health.update(|counts| counts.unresolved.clear());
        assert!(!text().contains("claim_unknown"));
    }
}
