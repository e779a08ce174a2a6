//! What a MIG profile's name says of its part of the device: compute slices, and memory in eighths (quarters of a device
//! of four slices).
//!
//! The counts of a device come from NVML and are in the share that is held; here they are derived from names, to turn a
//! price of the device into that of a profile.

use schema::share::Share;

/// A profile such as `3g.40gb`, `1g.10gb+me` or `1c.3g.40gb`, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Profile<'a> {
    /// The profile of the GPU instance, without a compute instance's part.
    pub gpu_instance: &'a str,
    /// Its compute slices.
    pub slices: u32,
    /// Its memory in NVIDIA's gigabytes.
    pub memory_gb: u32,
}

/// Device memory by a word of the product name, gigabytes, first match; a name that says its gigabytes goes before.
const MEMORY_GB: [(&str, u32); 13] = [
    ("GB200", 186),
    ("GB300", 288),
    ("B300", 288),
    ("B200", 180),
    ("B100", 180),
    ("GH200", 96),
    ("H200", 141),
    ("NVL", 94),
    ("H100", 80),
    ("H800", 80),
    ("H20", 96),
    ("A30", 24),
    ("6000", 96),
];

impl<'a> Profile<'a> {
    /// Reads a profile's name; `None` where it isn't one.
    pub fn parse(text: &'a str) -> Option<Self> {
        let number = |text: &str, end: &str| text.strip_suffix(end)?.parse::<u32>().ok().filter(|n| *n > 0);
        let gpu_instance = match text.split_once('.') {
            Some((first, rest)) if number(first, "c").is_some() => rest,
            _ => text,
        };
        let (slices, memory) = gpu_instance.split_once('.')?;
        // What stands after the memory are engines that come with it: +me, +me.all, -me, +gfx.
        let end = memory.find(['+', '-']).unwrap_or(memory.len());
        let slices = number(slices, "g").filter(|n| *n <= 8)?;
        Some(Self { gpu_instance, slices, memory_gb: number(&memory[..end], "gb")? })
    }

    /// Its compute slices of the device's.
    pub fn compute(&self, model: &str) -> Share {
        let device = device_slices(model).max(self.slices);
        Share::new(self.slices, device)
    }

    /// Its part of the device's memory in whole eighths (or quarters); where the device's memory isn't known, what such a
    /// profile has on every device of seven slices known.
    pub fn memory(&self, model: &str) -> Option<Share> {
        let parts = if device_slices(model) == 7 { 8 } else { device_slices(model) };
        let own = match memory_gb(model) {
            // Names round a profile's memory down from an eighth, so the nearest eighth is meant.
            Some(device) => (2 * self.memory_gb * parts + device) / (2 * device),
            None if parts == 8 => match self.slices {
                1 | 2 => self.slices,
                3 | 4 => 4,
                7 => 8,
                _ => return None,
            },
            None => self.slices,
        };
        (1..=parts).contains(&own).then(|| Share::new(own, parts))
    }
}

/// Compute slices of a device: seven, but for the models that have fewer.
fn device_slices(model: &str) -> u32 {
    let has = |word: &str| words(model).any(|w| w == word);
    match () {
        () if has("A30") || has("A30X") => 4,
        () if has("RTX") && has("6000") => 4,
        () if has("RTX") && has("5000") => 2,
        () => 7,
    }
}

fn memory_gb(model: &str) -> Option<u32> {
    // "GH200 480GB" says the memory of its CPU.
    let said = words(model).find_map(|w| w.strip_suffix("GB").or(w.strip_suffix('G'))?.parse().ok());
    let said = said.filter(|gb| ![0, 480].contains(gb));
    let named = || MEMORY_GB.iter().find(|(word, _)| words(model).any(|w| w == *word)).map(|(_, gb)| *gb);
    said.or_else(named)
}

fn words(model: &str) -> impl Iterator<Item = &str> {
    model.split([' ', '-', '_', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_nvidia_writes_them() {
        for (text, want) in [
            ("1g.10gb", Some(("1g.10gb", 1, 10))),
            ("1g.10gb+me", Some(("1g.10gb+me", 1, 10))),
            ("1g.24gb+me.all", Some(("1g.24gb+me.all", 1, 24))),
            ("4g.96gb+gfx", Some(("4g.96gb+gfx", 4, 96))),
            ("1c.3g.40gb", Some(("3g.40gb", 3, 40))),
            ("", None),
            ("3g", None),
            ("g.10gb", None),
            ("0g.10gb", None),
            ("9g.10gb", None),
            ("grid_a100-10c", None),
        ] {
            let got = Profile::parse(text).map(|p| (p.gpu_instance, p.slices, p.memory_gb));
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn parts_are_those_of_nvidias_tables() {
        for (model, profile, compute, memory) in [
            ("NVIDIA H100 80GB HBM3", "1g.10gb", "1/7", "1/8"),
            ("NVIDIA H100 80GB HBM3", "1g.20gb", "1/7", "1/4"),
            ("NVIDIA H100 80GB HBM3", "2g.20gb", "2/7", "1/4"),
            ("NVIDIA H100 80GB HBM3", "3g.40gb", "3/7", "1/2"),
            ("NVIDIA H100 80GB HBM3", "4g.40gb", "4/7", "1/2"),
            ("NVIDIA H100 80GB HBM3", "7g.80gb", "1", "1"),
            ("NVIDIA H100 NVL", "1g.12gb", "1/7", "1/8"),
            ("NVIDIA H100 NVL", "3g.47gb", "3/7", "1/2"),
            ("NVIDIA GH200 480GB", "1g.24gb", "1/7", "1/4"),
            ("NVIDIA GH200 144G HBM3e", "1g.36gb", "1/7", "1/4"),
            ("NVIDIA H200", "1g.18gb", "1/7", "1/8"),
            ("NVIDIA H200", "1g.35gb", "1/7", "1/4"),
            ("NVIDIA H200", "3g.71gb", "3/7", "1/2"),
            ("NVIDIA B200", "1g.23gb", "1/7", "1/8"),
            ("NVIDIA B200", "1g.45gb", "1/7", "1/4"),
            ("NVIDIA B200", "7g.180gb", "1", "1"),
            ("NVIDIA A100-SXM4-40GB", "1g.5gb+me", "1/7", "1/8"),
            ("NVIDIA A100-SXM4-40GB", "1g.10gb", "1/7", "1/4"),
            ("NVIDIA A100-SXM4-40GB", "3g.20gb", "3/7", "1/2"),
            ("NVIDIA A30", "1g.6gb", "1/4", "1/4"),
            ("NVIDIA A30", "2g.12gb", "1/2", "1/2"),
            ("NVIDIA A30", "4g.24gb", "1", "1"),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb", "1/4", "1/4"),
            ("Some GPU", "3g.999gb", "3/7", "1/2"),
            ("Some GPU", "2g.999gb", "2/7", "1/4"),
        ] {
            let read = Profile::parse(profile).expect(profile);
            assert_eq!(read.compute(model).to_string(), compute, "{model} {profile}");
            assert_eq!(read.memory(model).expect(profile).to_string(), memory, "{model} {profile}");
        }
        let read = |text| Profile::parse(text).expect(text);
        assert_eq!(read("1g.1gb").memory("NVIDIA H200"), None);
        assert_eq!(read("7g.500gb").memory("NVIDIA H200"), None);
        assert_eq!(read("5g.50gb").memory("Some GPU"), None);
    }
}
