//! `/metrics/dcgm`: names, units and labels of dcgm-exporter before 4.9, so that dashboards and alerts go on working.
//! Power, energy and clocks come once for each device; memory and activity under MIG once for each GPU instance.

use super::text::Text;
use crate::reading::{DeviceReading, Gauges, Instance};
use crate::sampler::Sampler;
use crate::track::Track;
use schema::owner::{OwnerKind, key};
use std::collections::BTreeMap;

const MIB: f64 = 1_048_576.0;

/// Renders the page. `host_label` is `Hostname`, or `hostname` as newer exporters have it.
pub fn render(node: &str, host_label: &str, sampler: &Sampler, last_xid: &BTreeMap<String, u64>) -> String {
    let mut text = Text::default();
    let good: Vec<(&DeviceReading, &Gauges)> =
        sampler.last.devices.iter().filter_map(|d| d.outcome.as_ref().ok().map(|g| (d, &**g))).collect();
    let track =
        |d: &DeviceReading| sampler.tracks().iter().find(|track| track.identity.uuid == d.identity.uuid);
    let labels = Labels { node, host_label };
    type Gauge = fn(&Gauges) -> Option<f64>;
    let devices: [(&'static str, &'static str, &'static str, Gauge); 11] = [
        ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", |g| g.sm_clock_mhz.map(f64::from)),
        ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", |g| {
            g.memory_clock_mhz.map(f64::from)
        }),
        ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", |g| g.temperature_c.map(f64::from)),
        ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", |g| {
            Some(f64::from(g.power_mw.ok()?) / 1e3)
        }),
        (
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "counter",
            "Total energy consumption since boot (in mJ).",
            |g| Some(g.energy_mj.ok()? as f64),
        ),
        ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", |g| {
            Some(f64::from(g.utilization.ok()?.0))
        }),
        ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", |g| {
            Some(f64::from(g.utilization.ok()?.1)).filter(|v| *v <= 100.0)
        }),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.", |g| {
            g.gpm.ok()?.graphics
        }),
        ("DCGM_FI_PROF_SM_ACTIVE", "gauge", "The ratio of cycles an SM has at least 1 warp assigned.", |g| {
            Some(g.gpm.ok()?.sm)
        }),
        (
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            "gauge",
            "Ratio of cycles the tensor (HMMA) pipe is active.",
            |g| g.gpm.ok()?.tensor,
        ),
        (
            "DCGM_FI_PROF_DRAM_ACTIVE",
            "gauge",
            "Ratio of cycles the device memory interface is active sending or receiving data.",
            |g| g.gpm.ok()?.dram,
        ),
    ];
    type Part = fn(&Instance) -> Option<f64>;
    let parts: [(&str, Part); 4] = [
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", |i| i.gpm.ok()?.graphics),
        ("DCGM_FI_PROF_SM_ACTIVE", |i| Some(i.gpm.ok()?.sm)),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", |i| i.gpm.ok()?.tensor),
        ("DCGM_FI_PROF_DRAM_ACTIVE", |i| i.gpm.ok()?.dram),
    ];
    for (name, kind, help, value) in devices {
        text.family(name, kind, help);
        for (device, gauges) in &good {
            if let Some(value) = value(gauges) {
                labels.sample(&mut text, device, None, track(device), value);
            }
            if let Some((_, part)) = parts.iter().find(|(part, _)| *part == name) {
                for instance in gpu_instances(gauges) {
                    if let Some(value) = part(instance) {
                        labels.sample(&mut text, device, Some(instance), track(device), value);
                    }
                }
            }
        }
    }
    type Memory = fn(&crate::reading::Memory) -> u64;
    let memory: [(&'static str, &'static str, Memory); 3] = [
        ("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", |m| m.free_bytes),
        ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", |m| m.used_bytes),
        ("DCGM_FI_DEV_FB_RESERVED", "Framebuffer memory reserved (in MiB).", |m| m.reserved_bytes),
    ];
    for (name, help, value) in memory {
        text.family(name, "gauge", help);
        for (device, gauges) in &good {
            if gauges.mig.is_none()
                && let Ok(memory) = &gauges.memory
            {
                labels.sample(&mut text, device, None, track(device), (value(memory) as f64 / MIB).floor());
            }
            for instance in gpu_instances(gauges) {
                if let Ok(memory) = &instance.memory {
                    labels.sample(
                        &mut text,
                        device,
                        Some(instance),
                        track(device),
                        (value(memory) as f64 / MIB).floor(),
                    );
                }
            }
        }
    }
    text.family("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.");
    for (device, _) in &good {
        let xid = last_xid.get(&device.identity.uuid).copied().unwrap_or(0);
        labels.sample(&mut text, device, None, track(device), xid as f64);
    }
    text.finish()
}

/// The first compute instance of each GPU instance, to stand for it.
fn gpu_instances(gauges: &Gauges) -> impl Iterator<Item = &Instance> {
    let mut last = None;
    gauges.mig.iter().flatten().filter(move |i| last.replace(i.gpu_instance) != Some(i.gpu_instance))
}

struct Labels<'a> {
    node: &'a str,
    host_label: &'a str,
}

impl Labels<'_> {
    fn sample(
        &self,
        text: &mut Text,
        device: &DeviceReading,
        instance: Option<&Instance>,
        track: Option<&Track>,
        value: f64,
    ) {
        let id = &device.identity;
        let (index, name) = (id.index.to_string(), format!("nvidia{}", id.minor.unwrap_or(id.index)));
        let gi = instance.map(|instance| instance.gpu_instance.to_string());
        let mut labels = vec![
            ("gpu", index.as_str()),
            ("UUID", &id.uuid),
            ("pci_bus_id", &id.pci_bus_id),
            ("device", &name),
            ("modelName", &id.model),
        ];
        if let (Some(instance), Some(gi)) = (instance, &gi) {
            labels.push(("GPU_I_PROFILE", &instance.profile));
            labels.push(("GPU_I_ID", gi));
        }
        labels.push((self.host_label, self.node));
        labels.push(("DCGM_FI_DRIVER_VERSION", &id.driver_version));
        let owner = track.and_then(|track| sole_pod(track, instance.map(|i| i.gpu_instance)));
        let of_pod = |key: &str| owner.and_then(|o| o.owner.attributes.get(key)).map(String::as_str);
        for (label, key) in [("namespace", key::NAMESPACE), ("pod", key::POD), ("pod_uid", key::POD_UID)] {
            labels.extend(of_pod(key).map(|value| (label, value)));
        }
        text.sample(&labels, value);
    }
}

/// The pod that alone holds a device or GPU instance; with two there is no saying whose the figure is.
fn sole_pod(track: &Track, gpu_instance: Option<u32>) -> Option<&crate::owner::OwnerRecord> {
    let mut owners = track
        .owners()
        .filter(|r| gpu_instance.is_none() || r.holder.place.gpu_instance == gpu_instance)
        .map(|r| &r.holder.owner);
    let first = owners.next()?;
    let sole = owners.all(|other| other.workload == first.workload);
    (sole && first.owner.kind == OwnerKind::Kubernetes).then_some(first)
}
