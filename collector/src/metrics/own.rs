//! `/metrics`: devices, MIG instances, usage, and the collector itself, under `slicemeter_`.

use super::UsageTotals;
use super::text::Text;
use crate::reading::{DeviceReading, Gauges, Instance, NodeReading};
use crate::sampler::Sampler;
use crate::shipper::ShipperStats;
use crate::spool::SpoolStats;
use std::collections::BTreeMap;

/// Everything the page is made of.
pub struct OwnInput<'a> {
    /// Node's name.
    pub node: &'a str,
    /// The sampling state with its last reading.
    pub sampler: &'a Sampler,
    /// Usage since the start.
    pub usage: &'a UsageTotals,
    /// The spool; none in a single reading.
    pub spool: Option<SpoolStats>,
    /// Shipping; none where nothing is shipped.
    pub shipper: Option<ShipperStats>,
    /// XIDs since the start by device and number.
    pub xids: &'a BTreeMap<(String, u64), u64>,
    /// Seconds that the last tick took.
    pub tick_s: f64,
    /// Steps of the wall clock since the start.
    pub clock_steps: u64,
    /// Processes whose owner couldn't be found, look-ups since the start.
    pub owners_unresolved: u64,
    /// Slots of one MPS device whose holder was on another.
    pub moved_slots: u64,
    /// Threads that are stuck in the driver now.
    pub parked_threads: usize,
    /// Unix seconds of the last good reading.
    pub read_at_s: f64,
}

/// Renders the page.
pub fn render(input: &OwnInput<'_>) -> String {
    let mut text = Text::default();
    let reading = &input.sampler.last;
    devices(&mut text, input.node, reading);
    instances(&mut text, input.node, reading);
    usage(&mut text, input);
    super::itself::render(&mut text, input);
    text.finish()
}

fn good(reading: &NodeReading) -> impl Iterator<Item = (&DeviceReading, &Gauges)> {
    reading.devices.iter().filter_map(|device| device.outcome.as_ref().ok().map(|gauges| (device, &**gauges)))
}

fn devices(text: &mut Text, node: &str, reading: &NodeReading) {
    text.family("slicemeter_gpu_info", "gauge", "A device as NVML names it; always 1.");
    for device in &reading.devices {
        let (id, index) = (&device.identity, device.identity.index.to_string());
        let mig = device.outcome.as_ref().is_ok_and(|gauges| gauges.mig.is_some());
        let labels = [
            ("node", node),
            ("gpu_uuid", &id.uuid),
            ("gpu_index", &index),
            ("pci_bus_id", &id.pci_bus_id),
            ("model", &id.model),
            ("driver_version", &id.driver_version),
            ("mig", if mig { "on" } else { "off" }),
        ];
        text.sample(&labels, 1);
    }
    text.family("slicemeter_gpu_up", "gauge", "Whether the device answered the last reading.");
    for device in &reading.devices {
        text.sample(&[("node", node), ("gpu_uuid", &device.identity.uuid)], u8::from(device.outcome.is_ok()));
    }
    type Gauge = fn(&Gauges) -> Option<f64>;
    let gauges: [(&'static str, &'static str, &'static str, Gauge); 17] = [
        ("slicemeter_gpu_energy_joules_total", "counter", "Energy since the driver was loaded.", |g| {
            Some(g.energy_mj.ok()? as f64 / 1e3)
        }),
        (
            "slicemeter_gpu_pcie_sent_bytes_total",
            "counter",
            "Bytes sent over PCIe since the driver was loaded.",
            |g| Some(g.links?.pcie_sent? as f64),
        ),
        (
            "slicemeter_gpu_pcie_received_bytes_total",
            "counter",
            "Bytes received over PCIe since the driver was loaded.",
            |g| Some(g.links?.pcie_received? as f64),
        ),
        (
            "slicemeter_gpu_nvlink_sent_bytes_total",
            "counter",
            "Payload sent over all NVLinks since the driver was loaded.",
            |g| Some(g.links?.nvlink_sent? as f64),
        ),
        (
            "slicemeter_gpu_nvlink_received_bytes_total",
            "counter",
            "Payload received over all NVLinks since the driver was loaded.",
            |g| Some(g.links?.nvlink_received? as f64),
        ),
        ("slicemeter_gpu_power_watts", "gauge", "Power draw.", |g| Some(f64::from(g.power_mw.ok()?) / 1e3)),
        ("slicemeter_gpu_temperature_celsius", "gauge", "Core temperature.", |g| {
            g.temperature_c.map(f64::from)
        }),
        ("slicemeter_gpu_sm_clock_hertz", "gauge", "SM clock.", |g| Some(f64::from(g.sm_clock_mhz?) * 1e6)),
        ("slicemeter_gpu_memory_clock_hertz", "gauge", "Memory clock.", |g| {
            Some(f64::from(g.memory_clock_mhz?) * 1e6)
        }),
        (
            "slicemeter_gpu_utilization_ratio",
            "gauge",
            "Part of the last sample period with a kernel resident; absent under MIG.",
            |g| Some(f64::from(g.utilization.ok()?.0) / 100.0),
        ),
        ("slicemeter_gpu_memory_total_bytes", "gauge", "Framebuffer.", |g| {
            Some(g.memory.ok()?.total_bytes as f64)
        }),
        ("slicemeter_gpu_memory_used_bytes", "gauge", "Framebuffer in use, without what is reserved.", |g| {
            Some(g.memory.ok()?.used_bytes as f64)
        }),
        ("slicemeter_gpu_memory_free_bytes", "gauge", "Framebuffer not in use.", |g| {
            Some(g.memory.ok()?.free_bytes as f64)
        }),
        (
            "slicemeter_gpu_memory_reserved_bytes",
            "gauge",
            "Framebuffer that driver and firmware keep.",
            |g| Some(g.memory.ok()?.reserved_bytes as f64),
        ),
        (
            "slicemeter_gpu_sm_active_ratio",
            "gauge",
            "Part of SMs that were active (GPM); absent before Hopper and under MIG.",
            |g| Some(g.gpm.ok()?.sm),
        ),
        ("slicemeter_gpu_tensor_active_ratio", "gauge", "Activity of tensor pipes (GPM).", |g| {
            g.gpm.ok()?.tensor
        }),
        ("slicemeter_gpu_dram_active_ratio", "gauge", "Activity of the memory interface (GPM).", |g| {
            g.gpm.ok()?.dram
        }),
    ];
    for (name, kind, help, value) in gauges {
        text.family(name, kind, help);
        for (device, gauges) in good(reading) {
            if let Some(value) = value(gauges) {
                text.sample(&[("node", node), ("gpu_uuid", &device.identity.uuid)], value);
            }
        }
    }
}

fn instances(text: &mut Text, node: &str, reading: &NodeReading) {
    text.family("slicemeter_gpu_mig_info", "gauge", "A MIG compute instance; always 1.");
    for (device, gauges) in good(reading) {
        for instance in gauges.mig.iter().flatten() {
            let (gi, ci) = (instance.gpu_instance.to_string(), instance.compute_instance.to_string());
            let labels = [
                ("node", node),
                ("gpu_uuid", &*device.identity.uuid),
                ("gi", &gi),
                ("ci", &ci),
                ("mig_uuid", &instance.uuid),
                ("profile", &instance.profile),
            ];
            text.sample(&labels, 1);
        }
    }
    type Value = fn(&Instance) -> Option<f64>;
    let families: [(&'static str, &'static str, Value); 5] = [
        (
            "slicemeter_gpu_mig_memory_total_bytes",
            "Memory of the GPU instance, which its compute instances share.",
            |i| Some(i.memory.ok()?.total_bytes as f64),
        ),
        ("slicemeter_gpu_mig_memory_used_bytes", "Memory of the GPU instance in use.", |i| {
            Some(i.memory.ok()?.used_bytes as f64)
        }),
        (
            "slicemeter_gpu_mig_sm_active_ratio",
            "Part of the GPU instance's SMs that were active (GPM); absent before Hopper.",
            |i| Some(i.gpm.ok()?.sm),
        ),
        (
            "slicemeter_gpu_mig_tensor_active_ratio",
            "Activity of the GPU instance's tensor pipes (GPM).",
            |i| i.gpm.ok()?.tensor,
        ),
        (
            "slicemeter_gpu_mig_dram_active_ratio",
            "Activity of the GPU instance's memory interface (GPM).",
            |i| i.gpm.ok()?.dram,
        ),
    ];
    for (name, help, value) in families {
        text.family(name, "gauge", help);
        for (device, gauges) in good(reading) {
            let mut last = None;
            // Once for each GPU instance: a sum over compute instances would count it twice.
            for instance in
                gauges.mig.iter().flatten().filter(|i| last.replace(i.gpu_instance) != Some(i.gpu_instance))
            {
                if let Some(value) = value(instance) {
                    let gi = instance.gpu_instance.to_string();
                    text.sample(&[("node", node), ("gpu_uuid", &device.identity.uuid), ("gi", &gi)], value);
                }
            }
        }
    }
}

fn usage(text: &mut Text, input: &OwnInput<'_>) {
    type Value = fn(&super::Usage) -> f64;
    let families: [(&'static str, &'static str, Value); 4] = [
        ("slicemeter_usage_held_seconds_total", "Device time held, by kind of owner.", |u| u.held_ms / 1e3),
        ("slicemeter_usage_busy_seconds_total", "Device time busy, by kind of owner.", |u| u.busy_ms / 1e3),
        ("slicemeter_usage_memory_byte_seconds_total", "Memory held over time, by kind of owner.", |u| {
            u.memory_byte_ms / 1e3
        }),
        ("slicemeter_usage_energy_joules_total", "Energy attributed, by kind of owner.", |u| {
            u.energy_mj as f64 / 1e3
        }),
    ];
    for (name, help, value) in families {
        text.family(name, "counter", help);
        for (uuid, kind, usage) in input.usage.iter() {
            text.sample(&[("node", input.node), ("gpu_uuid", uuid), ("owner_kind", kind)], value(usage));
        }
    }
    text.family(
        "slicemeter_usage_host_memory_byte_seconds_total",
        "counter",
        "Host memory of workloads on devices, by tier: far is on NUMA nodes without processors.",
    );
    for (kind, tiers) in &input.usage.host {
        for (tier, byte_ms) in ["near", "far"].into_iter().zip(tiers) {
            text.sample(&[("node", input.node), ("owner_kind", kind), ("tier", tier)], byte_ms / 1e3);
        }
    }
    text.family("slicemeter_gpu_xid_errors_total", "counter", "XIDs reported since the collector started.");
    for ((uuid, xid), count) in input.xids {
        text.sample(&[("node", input.node), ("gpu_uuid", uuid), ("xid", &xid.to_string())], count);
    }
}
