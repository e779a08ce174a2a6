//! What fractional schedulers write into a pod's annotations and labels: HAMi, gpushare (cGPU), KAI and Run:ai.

use super::pod::{Container, Role};
use schema::share::Share;
use std::collections::BTreeMap;

/// How much of a device was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// An exact share.
    Share(Share),
    /// So much memory and, where limited, so many percent of the cores: the larger share counts.
    MemoryAndCores {
        /// MiB of the device's memory; `None` where only cores were given.
        memory_mib: Option<u32>,
        /// Percent of the cores; `None` where there is no limit.
        cores_percent: Option<u32>,
    },
}

/// Which device a fractional scheduler gave.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantedDevice {
    /// By UUID: HAMi.
    Uuid(String),
    /// By NVML index: gpushare.
    Index(u32),
}

/// A part of a device that a fractional scheduler gave to a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// To which container; `None` for the pod as a whole.
    pub container: Option<String>,
    /// Of which device.
    pub device: GrantedDevice,
    /// How much.
    pub amount: Amount,
}

/// Everything that annotations grant on devices that they name.
///
/// # Errors
/// The annotation that has no form that is known: the caller counts it.
pub fn grants(
    annotations: &BTreeMap<String, String>,
    containers: &[Container],
) -> Result<Vec<Grant>, &'static str> {
    if let Some(value) = annotations.get(HAMI) {
        return hami(value, containers).ok_or(HAMI);
    }
    if annotations.contains_key(GPUSHARE_INDEX) {
        return gpushare(annotations, containers).ok_or(GPUSHARE_INDEX);
    }
    Ok(Vec::new())
}

const HAMI: &str = "hami.io/vgpu-devices-allocated";

/// `uuid,type,memMiB,cores` ended by `:` a device and by `;` a container. Newer versions list init containers first.
fn hami(value: &str, containers: &[Container]) -> Option<Vec<Grant>> {
    let segments: Vec<&str> = value.strip_suffix(';').unwrap_or(value).split(';').collect();
    let with_inits = segments.len() == containers.len();
    let listed: Vec<&Container> = containers.iter().filter(|c| with_inits || c.role == Role::App).collect();
    if segments.len() > listed.len().max(1) {
        return None;
    }
    let mut grants = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        for device in segment.split(':').filter(|device| !device.trim().is_empty()) {
            let fields: Vec<&str> = device.split(',').map(str::trim).collect();
            let [uuid, _, memory, cores] = fields[..] else { return None };
            let (memory, cores): (u32, u32) = (memory.parse().ok()?, cores.parse().ok()?);
            let amount = Amount::MemoryAndCores {
                memory_mib: Some(memory).filter(|mib| *mib > 0),
                cores_percent: Some(cores).filter(|percent| *percent > 0),
            };
            let container = listed.get(at).map(|c| c.name.clone());
            grants.push(Grant { container, device: GrantedDevice::Uuid(uuid.to_owned()), amount });
        }
    }
    Some(grants)
}

const GPUSHARE_INDEX: &str = "ALIYUN_COM_GPU_MEM_IDX";

/// Memory units of the pod (`_POD`) in those of the device (`_DEV`), once assigned: assumed only is not yet given.
fn gpushare(annotations: &BTreeMap<String, String>, containers: &[Container]) -> Option<Vec<Grant>> {
    let number = |key: &str| annotations.get(key).and_then(|value| value.parse::<u32>().ok());
    if annotations.get("ALIYUN_COM_GPU_MEM_ASSIGNED").map(String::as_str) != Some("true") {
        return Some(Vec::new());
    }
    let device = GrantedDevice::Index(number(GPUSHARE_INDEX)?);
    let (pod, of) =
        (number("ALIYUN_COM_GPU_MEM_POD")?, number("ALIYUN_COM_GPU_MEM_DEV").filter(|units| *units > 0)?);
    let grant = |container: Option<String>, units: u32| Grant {
        container,
        device: device.clone(),
        amount: Amount::Share(Share::new(units, of)),
    };
    let asked: Vec<&Container> = containers.iter().filter(|c| c.gpushare_units > 0).collect();
    if asked.iter().map(|c| u64::from(c.gpushare_units)).sum::<u64>() == u64::from(pod) && !asked.is_empty() {
        return Some(asked.iter().map(|c| grant(Some(c.name.clone()), c.gpushare_units)).collect());
    }
    Some(vec![grant(None, pod)])
}

/// What KAI or Run:ai gave of each device whose group the pod is in; the annotation names no device.
///
/// # Errors
/// The annotation that can't be read.
pub fn fraction(annotations: &BTreeMap<String, String>) -> Result<Option<Amount>, &'static str> {
    if let Some(fraction) = annotations.get("gpu-fraction") {
        return decimal(fraction).map(|share| Some(Amount::Share(share))).ok_or("gpu-fraction");
    }
    let Some(memory) = annotations.get("gpu-memory") else { return Ok(None) };
    let memory_mib = Some(memory.parse().map_err(|_| "gpu-memory")?);
    Ok(Some(Amount::MemoryAndCores { memory_mib, cores_percent: None }))
}

/// Groups of the KAI scheduler: `runai-gpu-group=<group>`, and `runai-gpu-group/<group>=<group>` on several devices.
pub fn gpu_groups(labels: &BTreeMap<String, String>) -> Vec<String> {
    let mut groups: Vec<String> = labels
        .iter()
        .filter(|(key, _)| *key == "runai-gpu-group" || key.starts_with("runai-gpu-group/"))
        .map(|(_, group)| group.clone())
        .collect();
    groups.sort();
    groups.dedup();
    groups
}

/// An exact share from a decimal of at most six places, above 0 and up to 1.
fn decimal(text: &str) -> Option<Share> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    if part.len() > 6 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let den = 10u32.pow(u32::try_from(part.len()).ok()?);
    let whole: u32 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u32 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let num = whole.checked_mul(den)?.checked_add(part)?;
    (num > 0 && num <= den).then(|| Share::new(num, den))
}

impl Amount {
    /// The share of a device with so much memory; `None` where its memory would be needed and isn't known.
    pub fn share(self, device_memory_mib: Option<u32>) -> Option<Share> {
        match self {
            Amount::Share(share) => Some(share),
            Amount::MemoryAndCores { memory_mib: None, cores_percent: None } => Some(Share::WHOLE),
            Amount::MemoryAndCores { memory_mib, cores_percent } => {
                let cores = cores_percent.map(|percent| Share::new(percent.min(100), 100));
                let memory = match memory_mib {
                    Some(mib) => {
                        let total = device_memory_mib.filter(|mib| *mib > 0)?;
                        Some(Share::new(mib.min(total), total))
                    }
                    None => None,
                };
                [cores, memory].into_iter().flatten().max_by(|a, b| compare(*a, *b))
            }
        }
    }
}

/// `num / den` as a share. Where reduced terms don't fit 32 bits, both lose their last bits.
pub fn reduced(num: u128, den: u128) -> Share {
    let gcd = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a.max(1)
    };
    let g = gcd(num, den);
    let (num, den) = (num / g, (den / g).max(1));
    let over = (128 - num.max(den).leading_zeros()).saturating_sub(32);
    let narrow = |n: u128| u32::try_from(n >> over).expect("what is over 32 bits was shifted out");
    Share::new(narrow(num), narrow(den).max(1))
}

/// The sum of two shares.
pub fn add(a: Share, b: Share) -> Share {
    let (an, ad, bn, bd) = (u128::from(a.num), u128::from(a.den), u128::from(b.num), u128::from(b.den));
    reduced(an * bd + bn * ad, ad * bd)
}

/// What `a` is over `b`; nothing where it isn't.
pub fn over(a: Share, b: Share) -> Share {
    let (an, ad, bn, bd) = (u128::from(a.num), u128::from(a.den), u128::from(b.num), u128::from(b.den));
    reduced((an * bd).saturating_sub(bn * ad), ad * bd)
}

/// Which share is larger.
pub fn compare(a: Share, b: Share) -> std::cmp::Ordering {
    (u64::from(a.num) * u64::from(b.den)).cmp(&(u64::from(b.num) * u64::from(a.den)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn containers(roles: &[(&str, Role, u32)]) -> Vec<Container> {
        let of = |(name, role, units): &(&str, Role, u32)| Container {
            name: (*name).into(),
            role: *role,
            ids: Vec::new(),
            gpushare_units: *units,
        };
        roles.iter().map(of).collect()
    }

    fn read(annotations: &[(&str, &str)], roles: &[(&str, Role, u32)]) -> Result<Vec<String>, &'static str> {
        let annotations = annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let show = |grant: Grant| {
            let share = grant.amount.share(Some(40_960)).expect("memory is known");
            format!("{} {:?} {share}", grant.container.unwrap_or_else(|| "-".into()), grant.device)
        };
        grants(&annotations, &containers(roles)).map(|grants| grants.into_iter().map(show).collect())
    }

    #[test]
    fn a_hami_quarter_is_a_quarter_and_the_larger_of_cores_and_memory_counts() {
        let app = [("main", Role::App, 0)];
        let quarter = [(HAMI, "GPU-a,NVIDIA,10240,25:;")];
        assert_eq!(read(&quarter, &app).expect("read"), [r#"main Uuid("GPU-a") 1/4"#]);
        assert_eq!(
            read(&[(HAMI, "GPU-a,NVIDIA,10240,50:;")], &app).expect("read"),
            [r#"main Uuid("GPU-a") 1/2"#]
        );
        assert_eq!(
            read(&[(HAMI, "GPU-a,NVIDIA,20480,0:;")], &app).expect("read"),
            [r#"main Uuid("GPU-a") 1/2"#]
        );
        let two = [(HAMI, "GPU-a,NVIDIA,4096,0:GPU-b,NVIDIA,4096,0:;")];
        assert_eq!(
            read(&two, &app).expect("read"),
            [r#"main Uuid("GPU-a") 1/10"#, r#"main Uuid("GPU-b") 1/10"#]
        );
    }

    #[test]
    fn hami_lists_containers_in_order_with_or_without_init_containers() {
        let pod = [("init", Role::Init, 0), ("a", Role::App, 0), ("b", Role::App, 0)];
        let newer = [(HAMI, ";GPU-a,NVIDIA,4096,0:;GPU-a,NVIDIA,8192,0:;")];
        let older = [(HAMI, "GPU-a,NVIDIA,4096,0:;GPU-a,NVIDIA,8192,0:;")];
        let want = [r#"a Uuid("GPU-a") 1/10"#, r#"b Uuid("GPU-a") 1/5"#];
        assert_eq!(read(&newer, &pod).expect("read"), want);
        assert_eq!(read(&older, &pod).expect("read"), want);
        assert_eq!(read(&[(HAMI, "GPU-a,NVIDIA,x,0:;")], &pod), Err(HAMI));
    }

    #[test]
    fn gpushare_counts_only_what_is_assigned() {
        let pod = [("main", Role::App, 6)];
        let with = |assigned: &'static str| {
            [
                (GPUSHARE_INDEX, "1"),
                ("ALIYUN_COM_GPU_MEM_POD", "6"),
                ("ALIYUN_COM_GPU_MEM_DEV", "24"),
                ("ALIYUN_COM_GPU_MEM_ASSIGNED", assigned),
            ]
        };
        assert_eq!(read(&with("true"), &pod).expect("read"), ["main Index(1) 1/4"]);
        assert!(read(&with("false"), &pod).expect("read").is_empty());
        assert_eq!(read(&with("true"), &[("main", Role::App, 0)]).expect("read"), ["- Index(1) 1/4"]);
    }

    #[test]
    fn kai_fractions_are_exact_decimals() {
        let share = |text| decimal(text).map(|share| share.to_string());
        assert_eq!(share("0.5").as_deref(), Some("1/2"));
        assert_eq!(share("0.333333").as_deref(), Some("333333/1000000"));
        assert_eq!(share("1").as_deref(), Some("1"));
        for bad in ["0", "1.5", "-0.5", "x", "", "0.1234567"] {
            assert_eq!(share(bad), None, "{bad:?}");
        }
        let read = |key: &str, value: &str| fraction(&[(key.to_owned(), value.to_owned())].into());
        let memory = Amount::MemoryAndCores { memory_mib: Some(4096), cores_percent: None };
        assert_eq!(read("gpu-fraction", "much"), Err("gpu-fraction"));
        assert_eq!(read("gpu-memory", "4096"), Ok(Some(memory)));
        assert_eq!(read("other", "1"), Ok(None));
    }

    #[test]
    fn shares_are_added_exactly_and_narrowed_only_where_they_must() {
        let share = Share::new;
        assert_eq!(add(share(1, 3), share(1, 6)), share(1, 2));
        assert_eq!(over(share(1, 2), share(1, 3)), share(1, 6));
        assert_eq!(over(share(1, 3), share(1, 2)), Share::NONE);
        assert_eq!(reduced(40 << 70, 80 << 70), share(1, 2));
        let narrowed = reduced((1 << 40) + 1, 1 << 41);
        assert!((f64::from(narrowed.num) / f64::from(narrowed.den) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_pod_on_two_devices_is_in_two_groups() {
        let labels =
            ["runai-gpu-group/a", "runai-gpu-group/b"].map(|key| (key.to_owned(), key[16..].to_owned()));
        assert_eq!(gpu_groups(&labels.into()), ["a", "b"]);
    }
}
