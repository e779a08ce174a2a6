//! MIG profiles by product: what an instance of each is, and what it uses before anybody does.

use super::{HALF_MIB, below, mib};

/// A GPU instance profile.
#[derive(Debug)]
pub struct Profile {
    /// `3g.40gb`, ...
    pub name: &'static str,
    /// NVML's profile id, as `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Compute slices.
    pub compute_slices: u32,
    /// Memory slices.
    pub memory_slices: u32,
    /// Multiprocessors of an instance that isn't cut further.
    pub sm_count: u32,
    /// Memory of an instance, in bytes.
    pub total_bytes: u64,
    /// Memory that an instance uses without any process, in bytes.
    pub overhead_bytes: u64,
}

/// Memory that an instance uses besides as soon as it has a process, in bytes.
pub const IN_USE_OVERHEAD_BYTES: u64 = 27 * HALF_MIB;

const fn profile(
    name: &'static str,
    id: u32,
    (compute_slices, memory_slices, sm_count): (u32, u32, u32),
    total_mib: u64,
    overhead_mib: u64,
) -> Profile {
    Profile {
        name,
        id,
        compute_slices,
        memory_slices,
        sm_count,
        total_bytes: mib(total_mib),
        overhead_bytes: below(overhead_mib),
    }
}

pub(super) const H100: &[Profile] = &[
    profile("1g.10gb", 19, (1, 1, 16), 9_984, 9),
    profile("1g.20gb", 15, (1, 2, 26), 20_096, 17),
    profile("2g.20gb", 14, (2, 2, 32), 20_096, 17),
    profile("3g.40gb", 9, (3, 4, 60), 40_448, 26),
    profile("4g.40gb", 5, (4, 4, 64), 40_448, 34),
    profile("7g.80gb", 0, (7, 8, 132), 81_024, 60),
];

pub(super) const H200: &[Profile] = &[
    profile("1g.18gb", 19, (1, 1, 16), 16_384, 9),
    profile("1g.35gb", 15, (1, 2, 26), 33_280, 17),
    profile("2g.35gb", 14, (2, 2, 32), 33_280, 17),
    profile("3g.71gb", 9, (3, 4, 60), 71_424, 22),
    profile("4g.71gb", 5, (4, 4, 64), 71_424, 34),
    profile("7g.141gb", 0, (7, 8, 132), 142_848, 60),
];

pub(super) const B200: &[Profile] = &[
    profile("1g.23gb", 19, (1, 1, 18), 22_016, 9),
    profile("1g.45gb", 15, (1, 2, 30), 45_056, 17),
    profile("2g.45gb", 14, (2, 2, 36), 45_056, 17),
    profile("3g.90gb", 9, (3, 4, 70), 91_136, 26),
    profile("4g.90gb", 5, (4, 4, 74), 91_136, 34),
    profile("7g.180gb", 0, (7, 8, 148), 182_272, 60),
];

pub(super) const A100_40GB: &[Profile] = &[
    profile("1g.5gb", 19, (1, 1, 14), 4_864, 4),
    profile("1g.10gb", 15, (1, 2, 14), 9_984, 7),
    profile("2g.10gb", 14, (2, 2, 28), 9_984, 7),
    profile("3g.20gb", 9, (3, 4, 42), 20_096, 11),
    profile("4g.20gb", 5, (4, 4, 56), 20_096, 14),
    profile("7g.40gb", 0, (7, 8, 98), 40_320, 25),
];

pub(super) const A100_80GB: &[Profile] = &[
    profile("1g.10gb", 19, (1, 1, 14), 9_728, 7),
    profile("1g.20gb", 15, (1, 2, 14), 19_968, 13),
    profile("2g.20gb", 14, (2, 2, 28), 19_968, 13),
    profile("3g.40gb", 9, (3, 4, 42), 40_192, 20),
    profile("4g.40gb", 5, (4, 4, 56), 40_192, 27),
    profile("7g.80gb", 0, (7, 8, 98), 80_640, 46),
];

pub(super) const A30: &[Profile] = &[
    profile("1g.6gb", 14, (1, 1, 14), 5_952, 4),
    profile("2g.12gb", 5, (2, 2, 28), 11_968, 7),
    profile("4g.24gb", 0, (4, 4, 56), 24_000, 14),
];

impl Profile {
    /// How many instances a GPU with these compute and memory slices can have.
    pub fn most(&self, compute_slices: u32, memory_slices: u32) -> u32 {
        (compute_slices / self.compute_slices).min(memory_slices / self.memory_slices)
    }

    /// First memory slices that an instance may lie at, on such a GPU.
    pub fn starts(&self, compute_slices: u32, memory_slices: u32) -> impl DoubleEndedIterator<Item = u32> {
        let size = self.memory_slices;
        (0..self.most(compute_slices, memory_slices)).map(move |number| number * size)
    }

    /// Its `NVML_GPU_INSTANCE_PROFILE_*` number, by which a profile is asked for (its `id` is what it answers).
    pub fn kind(&self) -> u32 {
        match (self.compute_slices, self.memory_slices) {
            (1, 1) => 0,
            (2, _) => 1,
            (3, _) => 2,
            (4, _) => 3,
            (7, _) => 4,
            _ => 9,
        }
    }
}
