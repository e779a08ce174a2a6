//! The products that a scenario can name, with what NVML answers for each.
//!
//! Memory, MIG and power figures of H100, H200 and L40S are what real machines printed (nvidia-smi rounds halves up, so a
//! figure here with half a MiB prints as the next whole one); the others are from NVIDIA's data sheets and MIG guide.

mod mig;

pub(crate) use mig::IN_USE_OVERHEAD_BYTES;

pub use mig::Profile;

/// Half a MiB, in bytes: the grain of the figures below.
const HALF_MIB: u64 = 512 * 1024;

/// A product.
#[derive(Debug)]
pub struct Preset {
    /// What a scenario calls it.
    pub key: &'static str,
    /// What NVML calls it.
    pub name: &'static str,
    /// `nvmlDeviceArchitecture_t`.
    pub architecture: u32,
    /// CUDA compute capability.
    pub compute_capability: (i32, i32),
    /// Frame buffer, in bytes.
    pub total_bytes: u64,
    /// Of which the driver keeps for itself, in bytes.
    pub reserved_bytes: u64,
    /// Memory that is used besides the processes' own as soon as there is one, in bytes.
    pub overhead_bytes: u64,
    /// Multiprocessors.
    pub sm_count: u32,
    /// Draw without load, in mW.
    pub idle_mw: u64,
    /// Draw when busy all the time, and the power limit, in mW.
    pub max_mw: u64,
    /// SM and memory clock, in MHz.
    pub clocks_mhz: (u32, u32),
    /// PCI device and subsystem id.
    pub pci_ids: (u32, u32),
    /// MIG compute slices; 0 without MIG.
    pub compute_slices: u32,
    /// MIG memory slices; 0 without MIG.
    pub memory_slices: u32,
    /// MIG profiles; none without MIG.
    pub profiles: &'static [Profile],
}

/// NVML's number of an architecture.
mod architecture {
    pub const PASCAL: u32 = 4;
    pub const VOLTA: u32 = 5;
    pub const TURING: u32 = 6;
    pub const AMPERE: u32 = 7;
    pub const ADA: u32 = 8;
    pub const HOPPER: u32 = 9;
    pub const BLACKWELL: u32 = 10;
}

impl Preset {
    /// Whether GPM exists (Hopper and newer).
    pub fn has_gpm(&self) -> bool {
        self.architecture >= architecture::HOPPER
    }

    /// Whether it counts energy (Volta and newer).
    pub fn has_energy(&self) -> bool {
        self.architecture >= architecture::VOLTA
    }

    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// Multiprocessors that one compute slice brings, in an instance that is cut further.
    pub fn sms_per_slice(&self) -> u32 {
        self.profiles.first().map_or(0, |smallest| smallest.sm_count)
    }

    /// The most MIG devices that it can have.
    pub fn max_mig_devices(&self) -> u32 {
        self.compute_slices
    }
}

/// The preset of this name.
pub fn find(key: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.key == key)
}

/// Every preset's name.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.key)
}

const fn mib(mib: u64) -> u64 {
    mib * 2 * HALF_MIB
}

/// Just below `mib` by half a MiB, which prints as `mib`.
const fn below(mib: u64) -> u64 {
    (mib * 2 - 1) * HALF_MIB
}

/// What a product without MIG shares with the others of its kind.
const PLAIN: Preset = Preset {
    key: "",
    name: "",
    architecture: 0,
    compute_capability: (0, 0),
    total_bytes: 0,
    reserved_bytes: 0,
    overhead_bytes: mib(16),
    sm_count: 0,
    idle_mw: 0,
    max_mw: 0,
    clocks_mhz: (0, 0),
    pci_ids: (0, 0),
    compute_slices: 0,
    memory_slices: 0,
    profiles: &[],
};

/// What every product with seven compute and eight memory slices shares.
const SLICED: Preset = Preset { compute_slices: 7, memory_slices: 8, overhead_bytes: mib(20), ..PLAIN };

const PRESETS: &[Preset] = &[
    Preset {
        key: "h100",
        name: "NVIDIA H100 80GB HBM3",
        architecture: architecture::HOPPER,
        compute_capability: (9, 0),
        total_bytes: mib(81_559),
        reserved_bytes: below(479),
        sm_count: 132,
        idle_mw: 69_850,
        max_mw: 700_000,
        clocks_mhz: (1980, 2619),
        pci_ids: (0x2330_10DE, 0x16C1_10DE),
        profiles: mig::H100,
        ..SLICED
    },
    Preset {
        key: "h200",
        name: "NVIDIA H200",
        architecture: architecture::HOPPER,
        compute_capability: (9, 0),
        total_bytes: mib(143_771),
        reserved_bytes: below(614),
        sm_count: 132,
        idle_mw: 77_670,
        max_mw: 700_000,
        clocks_mhz: (1980, 3201),
        pci_ids: (0x2335_10DE, 0x18BE_10DE),
        profiles: mig::H200,
        ..SLICED
    },
    Preset {
        key: "b200",
        name: "NVIDIA B200",
        architecture: architecture::BLACKWELL,
        compute_capability: (10, 0),
        total_bytes: mib(183_359),
        reserved_bytes: below(720),
        sm_count: 148,
        idle_mw: 140_000,
        max_mw: 1_000_000,
        clocks_mhz: (1965, 3996),
        pci_ids: (0x2901_10DE, 0x1999_10DE),
        profiles: mig::B200,
        ..SLICED
    },
    Preset {
        key: "a100-40gb",
        name: "NVIDIA A100-SXM4-40GB",
        architecture: architecture::AMPERE,
        compute_capability: (8, 0),
        total_bytes: mib(40_960),
        reserved_bytes: below(571),
        sm_count: 108,
        idle_mw: 52_000,
        max_mw: 400_000,
        clocks_mhz: (1410, 1215),
        pci_ids: (0x20B0_10DE, 0x134F_10DE),
        profiles: mig::A100_40GB,
        ..SLICED
    },
    Preset {
        key: "a100-80gb",
        name: "NVIDIA A100-SXM4-80GB",
        architecture: architecture::AMPERE,
        compute_capability: (8, 0),
        total_bytes: mib(81_920),
        reserved_bytes: below(673),
        sm_count: 108,
        idle_mw: 62_000,
        max_mw: 400_000,
        clocks_mhz: (1410, 1593),
        pci_ids: (0x20B2_10DE, 0x1463_10DE),
        profiles: mig::A100_80GB,
        ..SLICED
    },
    Preset {
        key: "a30",
        name: "NVIDIA A30",
        architecture: architecture::AMPERE,
        compute_capability: (8, 0),
        total_bytes: mib(24_576),
        reserved_bytes: below(512),
        sm_count: 56,
        idle_mw: 28_000,
        max_mw: 165_000,
        clocks_mhz: (1440, 1215),
        pci_ids: (0x20B7_10DE, 0x1532_10DE),
        compute_slices: 4,
        memory_slices: 4,
        profiles: mig::A30,
        ..SLICED
    },
    Preset {
        key: "l40s",
        name: "NVIDIA L40S",
        architecture: architecture::ADA,
        compute_capability: (8, 9),
        total_bytes: mib(46_068),
        reserved_bytes: below(609),
        sm_count: 142,
        idle_mw: 35_000,
        max_mw: 350_000,
        clocks_mhz: (2520, 9001),
        pci_ids: (0x26B9_10DE, 0x1851_10DE),
        ..PLAIN
    },
    Preset {
        key: "l4",
        name: "NVIDIA L4",
        architecture: architecture::ADA,
        compute_capability: (8, 9),
        total_bytes: mib(23_034),
        reserved_bytes: below(462),
        sm_count: 58,
        idle_mw: 16_000,
        max_mw: 72_000,
        clocks_mhz: (2040, 6251),
        pci_ids: (0x27B8_10DE, 0x16CA_10DE),
        ..PLAIN
    },
    Preset {
        key: "a10",
        name: "NVIDIA A10",
        architecture: architecture::AMPERE,
        compute_capability: (8, 6),
        total_bytes: mib(23_028),
        reserved_bytes: below(455),
        sm_count: 72,
        idle_mw: 20_000,
        max_mw: 150_000,
        clocks_mhz: (1695, 6251),
        pci_ids: (0x2236_10DE, 0x1482_10DE),
        ..PLAIN
    },
    Preset {
        key: "t4",
        name: "Tesla T4",
        architecture: architecture::TURING,
        compute_capability: (7, 5),
        total_bytes: mib(15_360),
        reserved_bytes: below(449),
        sm_count: 40,
        idle_mw: 9_000,
        max_mw: 70_000,
        clocks_mhz: (1590, 5001),
        pci_ids: (0x1EB8_10DE, 0x12A2_10DE),
        ..PLAIN
    },
    Preset {
        key: "v100-32gb",
        name: "Tesla V100-SXM2-32GB",
        architecture: architecture::VOLTA,
        compute_capability: (7, 0),
        total_bytes: mib(32_768),
        reserved_bytes: below(268),
        sm_count: 80,
        idle_mw: 42_000,
        max_mw: 300_000,
        clocks_mhz: (1530, 877),
        pci_ids: (0x1DB5_10DE, 0x1249_10DE),
        ..PLAIN
    },
    Preset {
        key: "v100-16gb",
        name: "Tesla V100-SXM2-16GB",
        architecture: architecture::VOLTA,
        compute_capability: (7, 0),
        total_bytes: mib(16_384),
        reserved_bytes: below(240),
        sm_count: 80,
        idle_mw: 40_000,
        max_mw: 300_000,
        clocks_mhz: (1530, 877),
        pci_ids: (0x1DB1_10DE, 0x1212_10DE),
        ..PLAIN
    },
    Preset {
        key: "p100",
        name: "Tesla P100-PCIE-16GB",
        architecture: architecture::PASCAL,
        compute_capability: (6, 0),
        total_bytes: mib(16_384),
        reserved_bytes: below(108),
        sm_count: 56,
        idle_mw: 27_000,
        max_mw: 250_000,
        clocks_mhz: (1328, 715),
        pci_ids: (0x15F8_10DE, 0x118F_10DE),
        ..PLAIN
    },
];
