//! What the collector says of itself on `/metrics`.

use super::REVISION;
use super::own::OwnInput;
use super::text::Text;
use crate::reading::CALL_BOUNDS_US;
use std::time::UNIX_EPOCH;

/// Appends the collector's own metrics.
pub(super) fn render(text: &mut Text, input: &OwnInput<'_>) {
    let node = input.node;
    let own = [("node", node)];
    let stats = &input.sampler.stats;
    text.family(
        "slicemeter_collector_build_info",
        "gauge",
        "Version and revision of the collector; always 1.",
    );
    text.sample(&[("node", node), ("version", env!("CARGO_PKG_VERSION")), ("revision", REVISION)], 1);
    let mut one = |name, kind, help, value: f64| {
        text.family(name, kind, help);
        text.sample(&own, value);
    };
    let visible = input.sampler.last.devices.iter().filter(|device| device.outcome.is_ok()).count();
    one(
        "slicemeter_collector_visible_gpus",
        "gauge",
        "Devices that answered the last reading.",
        visible as f64,
    );
    one("slicemeter_collector_ticks_total", "counter", "Readings made.", input.sampler.ticks as f64);
    one(
        "slicemeter_collector_tick_duration_seconds",
        "gauge",
        "Time that the last reading took.",
        input.tick_s,
    );
    one(
        "slicemeter_collector_read_timestamp_seconds",
        "gauge",
        "When the driver was last read.",
        input.read_at_s,
    );
    one(
        "slicemeter_collector_parked_threads",
        "gauge",
        "Threads stuck in an NVML call that hangs.",
        input.parked_threads as f64,
    );
    one(
        "slicemeter_collector_deferred_process_lists_total",
        "counter",
        "Process lists put off because a tick's NVML time was used up.",
        stats.deferred_lists as f64,
    );
    one(
        "slicemeter_collector_clamped_values_total",
        "counter",
        "Values over 100 % that were clamped.",
        stats.clamped as f64,
    );
    one(
        "slicemeter_collector_not_a_number_total",
        "counter",
        "Values that were no number and were dropped.",
        stats.not_a_number as f64,
    );
    one(
        "slicemeter_collector_clock_steps_total",
        "counter",
        "Steps of the wall clock.",
        input.clock_steps as f64,
    );
    one(
        "slicemeter_collector_unresolved_processes_total",
        "counter",
        "Look-ups of processes that weren't in procfs.",
        input.owners_unresolved as f64,
    );
    one(
        "slicemeter_collector_moved_slots_total",
        "counter",
        "Windows of a slot that was given on one MPS device and held on another, where its processes were.",
        input.moved_slots as f64,
    );
    if let Some(spool) = input.spool {
        one("slicemeter_collector_spool_bytes", "gauge", "Bytes waiting in the spool.", spool.bytes as f64);
        one(
            "slicemeter_collector_spool_segments",
            "gauge",
            "Segment files in the spool.",
            spool.segments as f64,
        );
        one(
            "slicemeter_collector_spool_volatile",
            "gauge",
            "Whether the spool is lost at a reboot.",
            f64::from(u8::from(spool.volatile)),
        );
        one(
            "slicemeter_collector_spool_dropped_batches_total",
            "counter",
            "Batches lost because the spool was full, damaged or not writable.",
            spool.dropped_batches as f64,
        );
        one(
            "slicemeter_collector_spool_damaged_segments_total",
            "counter",
            "Segments set aside as damaged.",
            spool.damaged_segments as f64,
        );
    }
    if let Some(shipper) = &input.shipper {
        one(
            "slicemeter_collector_shipped_batches_total",
            "counter",
            "Batches that the server has.",
            shipper.shipped_batches as f64,
        );
        one(
            "slicemeter_collector_ship_failures_total",
            "counter",
            "Deliveries that failed and are tried again.",
            shipper.failures as f64,
        );
        one(
            "slicemeter_collector_refused_batches_total",
            "counter",
            "Batches that the server will never take.",
            shipper.refused_batches as f64,
        );
        if let Some(at) = shipper.last_success.and_then(|at| at.duration_since(UNIX_EPOCH).ok()) {
            one(
                "slicemeter_collector_ship_success_timestamp_seconds",
                "gauge",
                "When a delivery was last accepted.",
                at.as_secs_f64(),
            );
        }
    }
    text.family("slicemeter_collector_nvml_call_seconds", "histogram", "Duration of NVML calls.");
    let mut below = 0;
    for (bound, count) in CALL_BOUNDS_US.iter().zip(stats.buckets) {
        below += count;
        text.suffixed("_bucket", &[("node", node), ("le", &(*bound as f64 / 1e6).to_string())], below);
    }
    text.suffixed("_bucket", &[("node", node), ("le", "+Inf")], stats.calls);
    text.suffixed("_sum", &own, stats.micros as f64 / 1e6);
    text.suffixed("_count", &own, stats.calls);
    text.family(
        "slicemeter_collector_nvml_errors_total",
        "counter",
        "NVML calls that failed, by function and return code.",
    );
    for (function, code, count) in &stats.errors {
        text.sample(&[("node", node), ("function", function), ("code", &code.to_string())], count);
    }
    text.family(
        "slicemeter_collector_device_failing",
        "gauge",
        "Devices that aren't observed now, with the reason; 1 while it lasts.",
    );
    for track in input.sampler.tracks() {
        if let Some(reason) = track.failing() {
            let reason = format!("{reason:?}");
            text.sample(&[("node", node), ("gpu_uuid", &track.identity.uuid), ("reason", &reason)], 1);
        }
    }
}
