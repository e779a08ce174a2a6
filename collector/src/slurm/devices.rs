//! Which device Slurm's index is. Slurm counts the GPUs of a node in the order of its GRES configuration, which is
//! neither the number in `/dev/nvidiaN` nor NVML's index; `slurmd -G` prints that order with the files.

use super::gres::{Item, Place};
use crate::allocation::{DeviceName, Target};
use schema::hostlist;
use schema::share::Share;

/// GPUs in Slurm's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    /// By index; empty where nothing was said, and then index N is taken for `/dev/nvidiaN`.
    gpus: Vec<Target>,
    /// Shards (or MPS percent) that the device of an index is cut into, with the resource's name.
    parts: Vec<(String, Target, u32)>,
}

impl Devices {
    /// From what `slurmd -G` prints: lines `... Gres Name=gpu Type=h100 Count=1 Index=0 ID=7 File=/dev/nvidia0 ...`.
    pub fn from_slurmd(text: &str) -> Self {
        let mut devices = Self::default();
        for line in text.lines() {
            let Some(at) = line.find("Gres Name=") else { continue };
            let field = |name: &str| {
                line[at..].split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            };
            let name = field("Name").unwrap_or_default();
            let unique = field("UniqueId").filter(|id| id.starts_with("MIG-") || id.starts_with("GPU-"));
            let targets: Vec<Target> = match (unique, field("File")) {
                (Some(id), _) => vec![named(id)],
                (None, Some(file)) => minors(file),
                (None, None) => Vec::new(),
            };
            let count = field("Count").and_then(|count| count.parse().ok()).unwrap_or(1u32);
            match name {
                "gpu" => devices.gpus.extend(targets),
                "shard" | "mps" => {
                    let each = count / u32::try_from(targets.len().max(1)).unwrap_or(1);
                    devices.parts.extend(targets.into_iter().map(|target| (name.to_owned(), target, each)));
                }
                _ => {}
            }
        }
        devices
    }

    /// In the order of these names: `/dev/nvidia0`, `GPU-...`, `MIG-...`, or a PCI bus id. `None` where one is neither.
    pub fn from_names(names: &[String]) -> Option<Self> {
        let gpus = names.iter().map(|name| match name {
            name if name.starts_with("GPU-") || name.starts_with("MIG-") => Some(named(name)),
            name if name.contains("/nvidia") => minors(name).into_iter().next(),
            name if name.contains(':') => Some(DeviceName::PciBusId(name.clone()).into()),
            _ => None,
        });
        Some(Self { gpus: gpus.collect::<Option<Vec<Target>>>()?, parts: Vec::new() })
    }

    /// How many GPUs the node has; 0 where that wasn't said.
    pub fn len(&self) -> usize {
        self.gpus.len()
    }

    /// Whether the order wasn't said.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty()
    }

    /// Every GPU of the node, whole.
    pub fn all(&self) -> Vec<(Target, Share)> {
        self.gpus.iter().map(|target| (target.clone(), Share::WHOLE)).collect()
    }

    fn gpu(&self, index: u32) -> Option<Target> {
        if self.gpus.is_empty() {
            return Some(DeviceName::Minor(index).into());
        }
        self.gpus.get(usize::try_from(index).ok()?).cloned()
    }

    /// What a GRES item is of which device; `None` where the item doesn't say or names a device that isn't there.
    pub fn held(&self, item: &Item) -> Option<Vec<(Target, Share)>> {
        match (item.name.as_str(), &item.place) {
            ("gpu", Place::Indices(indices)) => {
                indices.iter().map(|index| Some((self.gpu(*index)?, Share::WHOLE))).collect()
            }
            ("shard" | "mps", Place::Indices(indices)) => {
                let each = u32::try_from(item.count).ok()? / u32::try_from(indices.len()).ok()?.max(1);
                indices.iter().map(|index| self.part(&item.name, *index, each)).collect()
            }
            ("shard" | "mps", Place::PerIndex(taken)) => {
                let named = taken.iter().zip(0u32..).filter(|((taken, _), _)| *taken > 0);
                named
                    .map(|((taken, present), index)| {
                        Some((self.gpu(index)?, Share::new(*taken, (*present).max(1))))
                    })
                    .collect()
            }
            _ => None,
        }
    }

    fn part(&self, name: &str, index: u32, count: u32) -> Option<(Target, Share)> {
        let target = self.gpu(index)?;
        let known = self.parts.iter().find(|(kind, of, _)| kind == name && *of == target);
        // Without a count, MPS is in percent of the device; shards have no default.
        let parts = known.map(|(_, _, parts)| *parts).or((name == "mps").then_some(100))?;
        Some((target, Share::new(count.min(parts), parts.max(1))))
    }
}

fn named(uuid: &str) -> Target {
    match uuid.starts_with("MIG-") {
        true => DeviceName::MigUuid(uuid.to_owned()).into(),
        false => DeviceName::Uuid(uuid.to_owned()).into(),
    }
}

/// The devices of a file list. A MIG instance lists its GPU's file first and then capability files, which say nothing
/// that can be told apart here: without a UUID it is left out rather than taken for the whole device.
fn minors(files: &str) -> Vec<Target> {
    let Some(files) = hostlist::expand(files) else { return Vec::new() };
    if files.iter().any(|file| file.contains("nvidia-cap")) {
        return Vec::new();
    }
    let minor = |file: &String| file.rsplit('/').next()?.strip_prefix("nvidia")?.parse().ok();
    files.iter().filter_map(minor).map(|minor| DeviceName::Minor(minor).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::gres::items;
    use super::*;

    const PRINTED: &str = "\
slurmd: Gres Name=shard Type=h100 Count=4 Index=0 ID=1918986455 File=/dev/nvidia3 (null)
slurmd: Gres Name=gpu Type=h100 Count=1 Index=3 ID=7696487 File=/dev/nvidia3 (null)
slurmd: Gres Name=shard Type=h100 Count=4 Index=1 ID=1918986455 File=/dev/nvidia1 (null)
slurmd: Gres Name=gpu Type=h100 Count=1 Index=1 ID=7696487 File=/dev/nvidia1 (null)
slurmd: Gres Name=gpu Type=1g.10gb Count=1 ID=7696487 File=/dev/nvidia0 UniqueId=MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55
";

    fn minor(minor: u32, num: u32, den: u32) -> (Target, Share) {
        (DeviceName::Minor(minor).into(), Share::new(num, den))
    }

    #[test]
    fn the_index_of_a_job_is_a_position_and_not_a_minor_number() {
        let devices = Devices::from_slurmd(PRINTED);
        let held = |text: &str| devices.held(&items(text)[0]);
        assert_eq!(devices.len(), 3);
        assert_eq!(held("gpu:h100:1(IDX:0)"), Some(vec![minor(3, 1, 1)]));
        assert_eq!(held("gpu:h100:2(IDX:0-1)"), Some(vec![minor(3, 1, 1), minor(1, 1, 1)]));
        let instance = DeviceName::MigUuid("MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55".into());
        assert_eq!(held("gpu:1g.10gb:1(IDX:2)"), Some(vec![(instance.into(), Share::WHOLE)]));
        assert_eq!(held("gpu:h100:1(IDX:9)"), None);
        assert_eq!(held("gpu:h100:1(CNT:1)"), None);
    }

    #[test]
    fn shards_and_mps_are_parts_of_their_device() {
        let devices = Devices::from_slurmd(PRINTED);
        let held = |text: &str| devices.held(&items(text)[0]);
        assert_eq!(held("shard:2(IDX:1)"), Some(vec![minor(1, 1, 2)]));
        assert_eq!(held("shard:h100:1(0/4,1/4)"), Some(vec![minor(1, 1, 4)]));
        assert_eq!(held("mps:25(IDX:0)"), Some(vec![minor(3, 1, 4)]));
        assert_eq!(held("shard:1(IDX:2)"), None, "an instance has no shards here");
    }

    #[test]
    fn without_an_order_the_index_is_the_minor_and_with_names_it_is_theirs() {
        let item = &items("gpu:1(IDX:1)")[0];
        assert_eq!(Devices::default().held(item), Some(vec![minor(1, 1, 1)]));
        let named = Devices::from_names(&["GPU-a".into(), "/dev/nvidia7".into(), "0000:83:00.0".into()]);
        assert_eq!(named.expect("names").held(item), Some(vec![minor(7, 1, 1)]));
        assert_eq!(Devices::from_names(&["gpu0".into()]), None);
    }
}
