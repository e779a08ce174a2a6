//! Holds kept in the state directory across the collector's starts: a pod that ends while none runs is listed by nobody
//! when the next one asks, and what it held is known from here alone. Nobody gets free GPUs by stopping the collector.
//!
//! A file of another boot is left alone: what ran before a reboot is over. One that can't be read costs what it would
//! have told, never a start.

use super::device_id::DeviceRef;
use super::holds::Part;
use crate::replace::replace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Holds that are kept: far more than a node's devices can be given out in.
const HOLDS_MAX: usize = 10_000;

/// A file of that many holds is some megabytes; a larger one isn't ours.
const BYTES_MAX: u64 = 32 << 20;

/// Parts that a share has at most: MiB of the largest device are fewer.
const PARTS_MAX: u32 = 1 << 20;

/// Where a collector keeps its holds, and which boot of the node it runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The state directory.
    pub directory: PathBuf,
    /// The kernel's boot id; empty where it can't be read, and then nothing says that a reboot lies in between.
    pub boot_id: String,
}

/// One container's hold as it was last known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHold {
    /// UID, or `namespace/name` where the kubelet alone told of the pod.
    pub pod: String,
    /// Container; `None` for the pod as a whole.
    pub container: Option<String>,
    /// Device or MIG device.
    pub target: DeviceRef,
    /// How much of it.
    pub part: Part,
    /// The owner's attributes.
    pub attributes: BTreeMap<String, String>,
    /// What was read to know the owner.
    pub evidence: String,
    /// Since when, Unix milliseconds.
    pub from_ms: i64,
    /// When it was last known to hold, or when it ended, Unix milliseconds.
    pub until_ms: i64,
    /// It ended then.
    pub is_over: bool,
    /// Its owner was known in full.
    pub settled: bool,
}

impl KeptHold {
    fn is_sound(&self) -> bool {
        let (Part::Fixed(share) | Part::Equal { of: share, .. }) = &self.part;
        (1..=PARTS_MAX).contains(&share.den) && share.num <= share.den && self.from_ms <= self.until_ms
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    boot_id: String,
    holds: Vec<KeptHold>,
}

/// The file in the state directory.
#[derive(Debug)]
pub struct KeptFile {
    file: PathBuf,
    content: Content,
}

impl KeptFile {
    /// Over the file in this place, and what it holds of this boot.
    pub fn open(place: &Place) -> (Self, Vec<KeptHold>) {
        let file = place.directory.join("holds.json");
        let content = read(&file).unwrap_or_else(|why| {
            tracing::warn!(
                file = %file.display(),
                why,
                "kept holds can't be read and are ignored: pods that ended while no collector ran aren't charged for that time"
            );
            None
        });
        let boot_id = &place.boot_id;
        let same = |kept: &Content| kept.boot_id == *boot_id || kept.boot_id.is_empty() || boot_id.is_empty();
        let holds = content.filter(same).map(|content| content.holds).unwrap_or_default();
        let content = Content { boot_id: boot_id.clone(), holds: holds.clone() };
        (Self { file, content }, holds)
    }

    /// Replaces what is kept, where it changed; the number of holds that there was no room for.
    ///
    /// # Errors
    /// The file can't be written: a collector that starts next finds what was kept before.
    pub fn keep(&mut self, mut holds: Vec<KeptHold>) -> std::io::Result<u64> {
        let over = holds.len().saturating_sub(HOLDS_MAX);
        holds.truncate(HOLDS_MAX);
        if self.content.holds != holds {
            let content = Content { boot_id: self.content.boot_id.clone(), holds };
            let text = serde_json::to_vec(&content).map_err(std::io::Error::other)?;
            replace(&self.file, &text)?;
            self.content = content;
        }
        Ok(over as u64)
    }
}

/// What lies there; `None` where nothing does.
fn read(file: &Path) -> Result<Option<Content>, String> {
    let length = match std::fs::metadata(file) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if length > BYTES_MAX {
        return Err(format!("it has {length} bytes, more than {BYTES_MAX}"));
    }
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let content: Content = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if content.holds.len() > HOLDS_MAX {
        return Err(format!("it has {} holds, more than {HOLDS_MAX}", content.holds.len()));
    }
    match content.holds.iter().find(|hold| !hold.is_sound()) {
        Some(hold) => Err(format!("the hold of pod {} has no sound share or time", hold.pod)),
        None => Ok(Some(content)),
    }
}

#[cfg(test)]
mod tests;
