//! What the service says about itself. A fixed number of series, whatever the fleet's size.

use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

/// Every family of the service.
pub struct Metrics {
    registry: Registry,
    /// Deliveries by outcome: stored, refused, busy.
    pub deliveries: IntCounterVec,
    /// Batches stored.
    pub batches: IntCounter,
    /// Rows of usage and devices stored, repeats included.
    pub rows: IntCounter,
    /// Rows refused and kept as dead letters.
    pub dead_letters: IntCounter,
    /// From a delivery's last byte to its durable answer.
    pub store_seconds: Histogram,
    /// Hours published.
    pub hours_closed: IntCounter,
    /// Hours that didn't add up and were not published.
    pub hours_broken: IntCounter,
    /// Days rated, repeats included.
    pub days_rated: IntCounter,
    /// Failed attempts to close hours or to rate days.
    pub close_errors: IntCounter,
    /// Unix time of the last close that went through.
    pub last_close: IntGauge,
    /// 1 while an edited file is wrong and the one before is in force, by file.
    pub config_load_failed: IntGaugeVec,
    /// GPU-hours that tenants held after their end, of the last 24 hours and the open one, by tenant.
    pub ended_use: GaugeVec,
}

impl Metrics {
    /// All families, at zero.
    pub fn new() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(name, help).expect("a valid name");
            registry.register(Box::new(counter.clone())).expect("registered once");
            counter
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help).expect("a valid name");
            registry.register(Box::new(gauge.clone())).expect("registered once");
            gauge
        };
        let deliveries = IntCounterVec::new(
            Opts::new("slicemeter_deliveries_total", "Deliveries of collectors, by outcome."),
            &["outcome"],
        )
        .expect("a valid name");
        registry.register(Box::new(deliveries.clone())).expect("registered once");
        for outcome in ["stored", "refused", "busy"] {
            deliveries.with_label_values(&[outcome]);
        }
        let store_seconds = Histogram::with_opts(
            HistogramOpts::new(
                "slicemeter_store_seconds",
                "Time from a delivery's last byte to its durable answer.",
            )
            .buckets(vec![0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0]),
        )
        .expect("valid buckets");
        registry.register(Box::new(store_seconds.clone())).expect("registered once");
        let config_load_failed = IntGaugeVec::new(
            Opts::new(
                "slicemeter_config_load_failed",
                "1 while an edited configuration file is wrong and the one before is in force, by file.",
            ),
            &["file"],
        )
        .expect("a valid name");
        registry.register(Box::new(config_load_failed.clone())).expect("registered once");
        for file in crate::jobs::reload::FILES {
            config_load_failed.with_label_values(&[file]);
        }
        let ended_use = GaugeVec::new(
            Opts::new(
                "slicemeter_tenant_ended_use_gpu_hours",
                "GPU-hours held in the last 24 hours and the open one by what is mapped to a tenant that has ended.",
            ),
            &["tenant"],
        )
        .expect("a valid name");
        registry.register(Box::new(ended_use.clone())).expect("registered once");
        Self {
            config_load_failed,
            ended_use,
            deliveries,
            batches: counter("slicemeter_batches_total", "Batches stored, repeats included."),
            rows: counter("slicemeter_rows_total", "Rows of usage and devices stored, repeats included."),
            dead_letters: counter("slicemeter_dead_letters_total", "Rows refused and kept as dead letters."),
            store_seconds,
            hours_closed: counter("slicemeter_hours_closed_total", "Revisions of hours published."),
            hours_broken: counter(
                "slicemeter_hours_broken_total",
                "Revisions of hours that did not add up and were not published.",
            ),
            days_rated: counter("slicemeter_days_rated_total", "Days rated, repeats included."),
            close_errors: counter(
                "slicemeter_close_errors_total",
                "Attempts to close hours or to rate days that failed.",
            ),
            last_close: gauge(
                "slicemeter_last_close_timestamp_seconds",
                "When hours with news were last all closed and their days rated.",
            ),
            registry,
        }
    }

    /// The text exposition.
    pub fn render(&self) -> String {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).expect("memory takes it");
        String::from_utf8(text).expect("the exposition is UTF-8")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
