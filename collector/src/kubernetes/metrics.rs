//! `slicemeter_kubernetes_*`: how far the second witness can be trusted. A source that never answered has no instant.

use super::health::{Counts, degradations};
use crate::metrics::text::Text;

/// The families as text, to go behind the collector's own. `wants_api` is whether there is an API server to ask.
pub fn render(node: &str, counts: &Counts, wants_api: bool, now_ms: i64) -> String {
    let mut text = Text::default();
    text.family(
        "slicemeter_kubernetes_last_success_timestamp_seconds",
        "gauge",
        "When a source of Kubernetes last answered.",
    );
    for (source, at_ms) in &counts.last_success_ms {
        text.sample(&[("node", node), ("source", source.label())], *at_ms as f64 / 1e3);
    }
    text.family(
        "slicemeter_kubernetes_errors_total",
        "counter",
        "Questions to a source of Kubernetes that failed, by reason.",
    );
    for ((source, reason), count) in &counts.errors {
        text.sample(&[("node", node), ("source", source.label()), ("reason", reason)], count);
    }
    text.family(
        "slicemeter_kubernetes_unresolved_holds",
        "gauge",
        "Holds that lead to no device or share now, by reason.",
    );
    for (reason, count) in &counts.unresolved {
        text.sample(&[("node", node), ("reason", reason)], count);
    }
    let mut one = |name, kind, help, value: u64| {
        text.family(name, kind, help);
        text.sample(&[("node", node)], value);
    };
    one(
        "slicemeter_kubernetes_degraded",
        "gauge",
        "Whether the kubelet's or the API server's word is missing, so that holds or names are.",
        u64::from(!degradations(counts, wants_api, now_ms).is_empty()),
    );
    one(
        "slicemeter_kubernetes_unresolved_device_ids_total",
        "counter",
        "Device ids of no known form that were met.",
        counts.unknown_device_ids,
    );
    one(
        "slicemeter_kubernetes_pods",
        "gauge",
        "Pods of this node that the API server tells of.",
        counts.pods,
    );
    one(
        "slicemeter_kubernetes_holds_not_kept",
        "gauge",
        "Holds that the state directory lacks: if their pod ends while no collector runs, that time is unobserved.",
        counts.not_kept,
    );
    one("slicemeter_kubernetes_holds", "gauge", "Holds of pods on devices that are in force.", counts.holds);
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::super::health::{Health, Source};
    use super::*;

    #[test]
    fn what_was_counted_is_shown_and_a_source_that_never_answered_has_no_instant() {
        let health = Health::default();
        health.succeeded(Source::Kubelet, 1_500);
        health.failed(Source::Pods, "forbidden");
        health.update(|counts| {
            counts.unresolved = [("claim_unknown", 2)].into();
            counts.not_kept = 3;
        });
        let page = render("n1", &health.counts(), true, 2_000);
        for line in [
            "slicemeter_kubernetes_last_success_timestamp_seconds{node=\"n1\",source=\"kubelet\"} 1.5",
            "slicemeter_kubernetes_errors_total{node=\"n1\",source=\"pods\",reason=\"forbidden\"} 1",
            "slicemeter_kubernetes_unresolved_holds{node=\"n1\",reason=\"claim_unknown\"} 2",
            "slicemeter_kubernetes_degraded{node=\"n1\"} 1",
            "slicemeter_kubernetes_holds_not_kept{node=\"n1\"} 3",
            "slicemeter_kubernetes_unresolved_device_ids_total{node=\"n1\"} 0",
        ] {
            assert!(page.lines().any(|own| own == line), "{line} in\n{page}");
        }
        assert!(!page.contains("timestamp_seconds{node=\"n1\",source=\"pods\"}"));
    }
}
