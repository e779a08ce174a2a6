//! A run: some GPUs, or equal shares of some, from a start to an end, and whose they were.

use schema::hostlist;
use schema::owner::Owner;
use schema::share::Share;
use schema::units::{HOUR_MS, NANO_PER_GPU_HOUR, NanoGpuHours};
use schema::window::Window;
use schema::wire::Sharing;
use sha2::{Digest, Sha256};

/// What a run is counted under, once, for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// Cluster.
    pub cluster: String,
    /// Job, as the scheduler names it. Ids wrap and requeued jobs keep theirs, so the instants are part of the key.
    pub job: String,
    /// When it was submitted, Unix milliseconds.
    pub submit_ms: i64,
    /// When it started, Unix milliseconds.
    pub start_ms: i64,
    /// The device where one is named, the GRES type where the job had several, else empty.
    pub part: String,
}

/// A run, or the part of it that was on one kind of GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What it is counted under.
    pub key: RunKey,
    /// First instant after it, Unix milliseconds; after the start.
    pub end_ms: i64,
    /// Whose it was.
    pub owner: Owner,
    /// NVML product name, as the price book names it.
    pub model: String,
    /// MIG profile, or empty.
    pub profile: String,
    /// GPUs, or instances or slots of GPUs.
    pub gpus: u32,
    /// How much of a GPU each of them is.
    pub share: Share,
    /// Nodes as a host list, `node[1-2]`, or empty. A list that can be read: it isn't kept expanded, because one may stand for
    /// thousands.
    pub nodes: String,
    /// NVML UUID of the one device, where the record names it.
    pub device: Option<String>,
}

impl Run {
    /// From start to end.
    pub fn window(&self) -> Window {
        Window::new(self.key.start_ms, self.end_ms)
    }

    /// The device that the ledger has it on: the one named, or the virtual pool of its cluster and model.
    pub fn place(&self) -> String {
        match &self.device {
            Some(device) => device.clone(),
            None => format!("virtual:{}:{}", self.key.cluster, self.model),
        }
    }

    /// Names of its nodes.
    pub fn node_names(&self) -> Vec<String> {
        hostlist::expand(&self.nodes).unwrap_or_default()
    }

    /// The only or first node; empty where the record names none.
    pub fn node(&self) -> String {
        self.node_names().into_iter().next().unwrap_or_default()
    }

    /// How the GPUs were divided.
    pub fn sharing(&self) -> Sharing {
        if !self.profile.is_empty() {
            Sharing::Mig
        } else if self.share == Share::WHOLE {
            Sharing::Whole
        } else {
            Sharing::TimeSliced
        }
    }

    /// Device time held until `at_ms`, from the run's start: the floor of the exact time, so that the pieces of a run sum to
    /// the run however it is cut.
    pub fn held_until(&self, at_ms: i64) -> NanoGpuHours {
        let ms = i128::from(at_ms.clamp(self.key.start_ms, self.end_ms) - self.key.start_ms);
        let parts = ms * i128::from(self.gpus) * i128::from(self.share.num) * i128::from(NANO_PER_GPU_HOUR);
        let whole = parts / (i128::from(self.share.den) * i128::from(HOUR_MS));
        NanoGpuHours(i64::try_from(whole).expect("the time and number of GPUs of a run are bounded"))
    }

    /// Device time held.
    pub fn held(&self) -> NanoGpuHours {
        self.held_until(self.end_ms)
    }

    /// First 64 bits of the SHA-256 of everything that isn't the key; where it was read isn't part of it.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Sha256::new();
        hash.update(self.end_ms.to_be_bytes());
        hash.update(self.owner.workload().0.to_be_bytes());
        for number in [self.gpus, self.share.num, self.share.den] {
            hash.update(number.to_be_bytes());
        }
        let texts = [&self.model, &self.profile, &self.nodes].into_iter().chain(&self.device);
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
        let digest = hash.finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
    }
}
