//! Device ids as the kubelet's device plugins write them: pure text, one typed answer.
//!
//! A form that isn't known here is an error that the caller counts and names once, never a device that silently
//! drops out of the bill.

use serde::{Deserialize, Serialize};

/// What an id points to on this node. Only a UUID is an identity; the rest holds at the moment of reading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeviceRef {
    /// A whole device: `GPU-...`.
    Gpu(String),
    /// A MIG device of today's drivers: `MIG-...`.
    Mig(String),
    /// A MIG device of drivers before R470: `MIG-GPU-<uuid>/<gi>/<ci>`.
    LegacyMig {
        /// `GPU-...` of the device it lies in.
        gpu: String,
        /// GPU instance id.
        gpu_instance: u32,
        /// Compute instance id.
        compute_instance: u32,
    },
    /// The device of `/dev/nvidia<minor>` or a GPU instance of it, as GKE names them.
    Minor {
        /// Minor number.
        minor: u32,
        /// GPU instance id.
        gpu_instance: Option<u32>,
    },
    /// A device by NVML index.
    Index(u32),
}

/// A part that the device plugin cuts a device into. It is a claim on the device's time or memory, not a place on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Replica of time-slicing or MPS (`::3`, GKE's `/vgpu3`).
    Replica(u32),
    /// HAMi's slot (`-4`); the share is in the pod's annotations.
    Hami(u32),
    /// One unit of gpushare's memory (`-_-12`); the device is in the pod's annotations, not here.
    MemoryUnit(u32),
}

/// A device id, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// The device or MIG device.
    pub device: DeviceRef,
    /// The part of it, where it is cut.
    pub slot: Option<Slot>,
}

/// An id of no known form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("device id {0:?} has no form that is known")]
pub struct UnknownForm(pub String);

impl std::str::FromStr for DeviceId {
    type Err = UnknownForm;

    fn from_str(id: &str) -> Result<Self, UnknownForm> {
        parse(id).ok_or_else(|| UnknownForm(id.to_owned()))
    }
}

fn parse(id: &str) -> Option<DeviceId> {
    if let Some((base, replica)) = id.split_once("::") {
        return Some(DeviceId { device: device(base)?, slot: Some(Slot::Replica(number(replica)?)) });
    }
    if let Some((base, unit)) = id.split_once("-_-") {
        return Some(DeviceId { device: device(base)?, slot: Some(Slot::MemoryUnit(number(unit)?)) });
    }
    if let Some((base, replica)) = id.rsplit_once("/vgpu") {
        let device = gke(base)?;
        return Some(DeviceId { device, slot: Some(Slot::Replica(number(replica)?)) });
    }
    if let Some(device) = device(id) {
        return Some(DeviceId { device, slot: None });
    }
    // A UUID has five groups of its own: only a sixth is a slot.
    let (base, slot) = id.rsplit_once('-')?;
    Some(DeviceId { device: device(base)?, slot: Some(Slot::Hami(number(slot)?)) })
}

fn device(id: &str) -> Option<DeviceRef> {
    if let Some(rest) = id.strip_prefix("MIG-GPU-") {
        let mut parts = rest.split('/');
        let (uuid, gi, ci) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && is_uuid(uuid);
        let (gpu_instance, compute_instance) = (number(gi)?, number(ci)?);
        return whole.then(|| DeviceRef::LegacyMig {
            gpu: format!("GPU-{uuid}"),
            gpu_instance,
            compute_instance,
        });
    }
    if let Some(uuid) = id.strip_prefix("MIG-") {
        return is_uuid(uuid).then(|| DeviceRef::Mig(id.to_owned()));
    }
    if let Some(uuid) = id.strip_prefix("GPU-") {
        return is_uuid(uuid).then(|| DeviceRef::Gpu(id.to_owned()));
    }
    if id.starts_with("nvidia") {
        return gke(id);
    }
    number(id).map(DeviceRef::Index)
}

/// `nvidia0` or `nvidia0/gi3`.
fn gke(id: &str) -> Option<DeviceRef> {
    let rest = id.strip_prefix("nvidia")?;
    match rest.split_once("/gi") {
        Some((minor, gi)) => {
            Some(DeviceRef::Minor { minor: number(minor)?, gpu_instance: Some(number(gi)?) })
        }
        None => Some(DeviceRef::Minor { minor: number(rest)?, gpu_instance: None }),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.len() == 5
        && groups
            .iter()
            .zip([8, 4, 4, 4, 12])
            .all(|(group, len)| group.len() == len && group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Decimal digits only: `parse` alone would take a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// What a resource's name says. The device id says more: this is for the names that change its reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceName {
    /// MIG profile in NVIDIA's words, where the name has one: `1g.10gb+me`.
    pub profile: Option<String>,
    /// Named as shared (`.shared`): its ids are slots.
    pub shared: bool,
}

/// Reads a resource name; `None` where it names no GPU. `extra` are names that the operator gave to resources of GPUs.
pub fn resource_name(name: &str, extra: &[String]) -> Option<ResourceName> {
    let known_extra = extra.iter().any(|own| own == name);
    let (vendor, resource) = name.split_once('/')?;
    let (resource, shared) = match resource.strip_suffix(".shared") {
        Some(base) => (base, true),
        None => (resource, false),
    };
    let profile = resource.strip_prefix("mig-").map(|profile| match profile.rsplit_once('.') {
        // Kubernetes allows no `+`: `1g.10gb.me` is `1g.10gb+me`.
        Some((base, attribute))
            if attribute.starts_with("me") || attribute == "gfx" || attribute == "all" =>
        {
            format!("{base}+{attribute}")
        }
        _ => profile.to_owned(),
    });
    let is_gpu = match vendor {
        "nvidia.com" => resource == "gpu" || profile.is_some() || resource == "pgpu" || resource == "vgpu",
        "aliyun.com" => resource == "gpu-mem",
        _ => false,
    };
    (is_gpu || known_extra).then_some(ResourceName { profile, shared })
}

/// Whether a resource that isn't known by name may be one of GPUs: operators rename them, and NVIDIA's other devices
/// (host devices, passed-through functions) are named alike. Their ids tell: those of GPUs have UUIDs.
pub fn may_be_gpu(name: &str) -> bool {
    name.starts_with("nvidia.com/")
}

impl DeviceId {
    /// Whether it names its device by UUID.
    pub fn has_uuid(&self) -> bool {
        matches!(self.device, DeviceRef::Gpu(_) | DeviceRef::Mig(_) | DeviceRef::LegacyMig { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &str = "GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee";
    const MIG: &str = "MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55";

    fn gpu() -> DeviceRef {
        DeviceRef::Gpu(GPU.into())
    }

    fn minor(minor: u32, gpu_instance: Option<u32>) -> DeviceRef {
        DeviceRef::Minor { minor, gpu_instance }
    }

    #[test]
    fn every_form_of_a_device_id_is_read() {
        let legacy = DeviceRef::LegacyMig { gpu: GPU.into(), gpu_instance: 7, compute_instance: 0 };
        let cases = [
            (GPU.to_owned(), gpu(), None),
            (format!("{GPU}::3"), gpu(), Some(Slot::Replica(3))),
            (format!("{GPU}::12"), gpu(), Some(Slot::Replica(12))),
            (format!("{GPU}-0"), gpu(), Some(Slot::Hami(0))),
            (format!("{GPU}-4"), gpu(), Some(Slot::Hami(4))),
            (format!("{GPU}-12"), gpu(), Some(Slot::Hami(12))),
            (format!("{GPU}-_-3"), gpu(), Some(Slot::MemoryUnit(3))),
            (format!("{GPU}-_-12"), gpu(), Some(Slot::MemoryUnit(12))),
            (MIG.to_owned(), DeviceRef::Mig(MIG.into()), None),
            (format!("{MIG}::7"), DeviceRef::Mig(MIG.into()), Some(Slot::Replica(7))),
            (format!("{MIG}-2"), DeviceRef::Mig(MIG.into()), Some(Slot::Hami(2))),
            (format!("MIG-{GPU}/7/0"), legacy.clone(), None),
            (format!("MIG-{GPU}/7/0::1"), legacy, Some(Slot::Replica(1))),
            ("nvidia0".into(), minor(0, None), None),
            ("nvidia0/gi0".into(), minor(0, Some(0)), None),
            ("nvidia0/gi3".into(), minor(0, Some(3)), None),
            ("nvidia0/vgpu1".into(), minor(0, None), Some(Slot::Replica(1))),
            ("nvidia0/gi0/vgpu1".into(), minor(0, Some(0)), Some(Slot::Replica(1))),
            ("nvidia12/gi3/vgpu0".into(), minor(12, Some(3)), Some(Slot::Replica(0))),
            ("0".into(), DeviceRef::Index(0), None),
            ("3::1".into(), DeviceRef::Index(3), Some(Slot::Replica(1))),
        ];
        for (id, device, slot) in cases {
            assert_eq!(id.parse(), Ok(DeviceId { device, slot }), "{id}");
        }
    }

    #[test]
    fn an_unknown_form_is_an_error_and_never_part_of_another() {
        for id in [
            "",
            "GPU-",
            "GPU-8f0a1c2d",
            "0000:3b:00.2",
            "nvidia",
            "nvidia+1",
            "0:1",
            "GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee::x",
            "MIG-1/2",
            // WSL's one device for all, and a DRA device's name, which its slice resolves and no form does.
            "/dev/dxg",
            "gpu-0",
            "gpu-0-mig-1g35gb-15-0",
        ] {
            assert_eq!(id.parse::<DeviceId>(), Err(UnknownForm(id.into())), "{id}");
        }
        // Six groups whose last is no number are no slot of HAMi's.
        assert!(format!("{GPU}-a").parse::<DeviceId>().is_err());
    }

    #[test]
    fn resource_names_are_read_in_nvidias_words() {
        let read = |name: &str| {
            resource_name(name, &["example.com/big-slice".into()]).map(|r| (r.profile, r.shared))
        };
        let cases = [
            ("nvidia.com/gpu", Some((None, false))),
            ("nvidia.com/gpu.shared", Some((None, true))),
            ("nvidia.com/mig-1g.5gb", Some((Some("1g.5gb"), false))),
            ("nvidia.com/mig-3g.40gb", Some((Some("3g.40gb"), false))),
            ("nvidia.com/mig-1g.10gb.me", Some((Some("1g.10gb+me"), false))),
            ("nvidia.com/mig-1g.5gb.shared", Some((Some("1g.5gb"), true))),
            ("aliyun.com/gpu-mem", Some((None, false))),
            ("example.com/big-slice", Some((None, false))),
            ("cpu", None),
            ("rdma/hca", None),
            ("nvidia.com/hostdev", None),
        ];
        for (name, want) in cases {
            assert_eq!(
                read(name),
                want.map(|(profile, shared)| (profile.map(str::to_owned), shared)),
                "{name}"
            );
        }
    }
}
