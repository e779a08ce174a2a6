//! Dynamic Resource Allocation: which device a claim's entry means, and how much of it was given.
//!
//! Device names changed between driver versions, so that they are looked up in the ResourceSlices, never taken apart.

use super::device_id::{DeviceId, DeviceRef};
use super::fractions::{compare, reduced};
use super::objects::{ClaimResult, DeviceProperties, ResourceClaim, ResourceSlice};
use super::podresources::ClaimDevice;
use super::quantity;
use schema::share::Share;
use std::collections::BTreeMap;

/// A device that a DRA driver offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedDevice {
    /// What it is to NVML.
    pub device: DeviceRef,
    /// Its capacity in thousandths, by name.
    pub capacity: BTreeMap<String, u128>,
}

/// Names a device within a cluster's node: driver, pool, device.
pub type DeviceKey = (String, String, String);

/// The devices of one slice that are known to NVML.
pub fn offered(slice: &ResourceSlice) -> Vec<(DeviceKey, OfferedDevice)> {
    let spec = &slice.spec;
    let devices = spec.devices.iter().filter_map(|device| {
        let properties = device.basic.as_ref().unwrap_or(&device.properties);
        let id: DeviceId = attribute(properties, "uuid")?.parse().ok()?;
        let capacity = properties
            .capacity
            .iter()
            .filter_map(|(name, c)| Some((bare(name).to_owned(), quantity::milli(&c.value)?)));
        let key = (spec.driver.clone(), spec.pool.name.clone(), device.name.clone());
        Some((key, OfferedDevice { device: id.device, capacity: capacity.collect() }))
    });
    devices.collect()
}

fn attribute<'a>(properties: &'a DeviceProperties, name: &str) -> Option<&'a str> {
    properties
        .attributes
        .iter()
        .find(|(key, _)| bare(key) == name)
        .and_then(|(_, value)| value.string.as_deref())
}

/// A name without the driver's domain.
fn bare(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, bare)| bare)
}

/// What a claim was given; `None` before it was given anything.
pub fn results(claim: &ResourceClaim) -> Option<Vec<ClaimResult>> {
    claim.status.allocation.as_ref().map(|allocation| allocation.devices.results.clone())
}

/// How a claim's device is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charged {
    /// Monitoring only: not at all.
    Never,
    /// So much of the device, whoever else holds a claim on it.
    Share(Share),
    /// In equal parts with every other claim on the device: it can be given several times and nothing says how much.
    Equally,
}

/// How the device of this entry is charged; `None` where the claim has no such result.
pub fn charged(results: &[ClaimResult], entry: &ClaimDevice, offered: &OfferedDevice) -> Option<Charged> {
    let same = |result: &&ClaimResult| {
        (&result.driver, &result.pool, &result.device) == (&entry.driver, &entry.pool, &entry.device)
            // A kubelet that doesn't know shares yet tells none.
            && (entry.share_id.is_none() || result.share_id == entry.share_id)
    };
    let result = results.iter().find(same)?;
    if result.admin_access == Some(true) {
        return Some(Charged::Never);
    }
    let parts = result.consumed_capacity.iter().filter_map(|(name, consumed)| {
        let whole = *offered.capacity.get(bare(name))?;
        (whole > 0).then(|| quantity::milli(consumed).map(|used| reduced(used.min(whole), whole)))?
    });
    Some(match (parts.max_by(|a, b| compare(*a, *b)), &result.share_id) {
        (Some(share), _) => Charged::Share(share),
        (None, Some(_)) => Charged::Equally,
        (None, None) => Charged::Share(Share::WHOLE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &str = "GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee";

    fn slice(device: &str) -> Vec<(DeviceKey, OfferedDevice)> {
        let json = format!(
            r#"{{"spec":{{"driver":"gpu.nvidia.com","pool":{{"name":"n1"}},"devices":[{device}]}}}}"#
        );
        offered(&serde_json::from_str(&json).expect("a slice"))
    }

    #[test]
    fn a_device_is_found_by_its_uuid_in_every_version_of_the_api() {
        let v1 = format!(
            r#"{{"name":"gpu-0","attributes":{{"uuid":{{"string":"{GPU}"}},"index":{{"int":0}}}},"capacity":{{"memory":{{"value":"80Gi"}}}}}}"#
        );
        let beta = format!(
            r#"{{"name":"gpu-0","basic":{{"attributes":{{"gpu.nvidia.com/uuid":{{"string":"{GPU}"}}}},"capacity":{{"memory":{{"value":"80Gi"}}}}}}}}"#
        );
        for device in [v1, beta] {
            let (key, found) = slice(&device).pop().expect("found");
            assert_eq!(key, ("gpu.nvidia.com".into(), "n1".into(), "gpu-0".into()));
            assert_eq!(found.device, DeviceRef::Gpu(GPU.into()));
            assert_eq!(found.capacity["memory"], 80 * 1024 * 1024 * 1024 * 1000);
        }
        assert!(slice(r#"{"name":"nic-0","attributes":{}}"#).is_empty());
    }

    #[test]
    fn consumed_capacity_is_a_share_and_admin_access_is_never_charged() {
        let entry = ClaimDevice {
            namespace: "a".into(),
            claim: "c".into(),
            driver: "gpu.nvidia.com".into(),
            pool: "n1".into(),
            device: "gpu-0".into(),
            share_id: Some("s1".into()),
        };
        let device = OfferedDevice {
            device: DeviceRef::Gpu(GPU.into()),
            capacity: [("memory".into(), 80_000)].into(),
        };
        let charge = |json: &str| {
            let json = format!(r#"{{"status":{{"allocation":{{"devices":{{"results":[{json}]}}}}}}}}"#);
            charged(&results(&serde_json::from_str(&json).expect("a claim")).expect("given"), &entry, &device)
        };
        let of = |more: &str| {
            format!(r#"{{"driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0","shareID":"s1"{more}}}"#)
        };
        assert_eq!(
            charge(&of(r#","consumedCapacity":{"memory":"20"}"#)),
            Some(Charged::Share(Share::new(1, 4)))
        );
        assert_eq!(charge(&of(r#","adminAccess":true"#)), Some(Charged::Never));
        assert_eq!(charge(&of("")), Some(Charged::Equally));
        assert_eq!(charge(r#"{"driver":"gpu.nvidia.com","pool":"n1","device":"gpu-1"}"#), None);
    }
}
