//! How far a collector's windows reach, kept across its starts: the time in which none ran is a gap with known edges,
//! which a scheduler's record can cover. Nobody gets free GPUs by stopping the collector.
//!
//! Where the kernel's boot id is another than then, a reboot lies in the gap: up to it the node is held to have been
//! down, whatever a scheduler says, and from it on nobody watched.

use crate::replace::replace;
use schema::wire::Batch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A gap is opened up to this long, as far back as a spool reaches; its pieces of a quarter hour fit the queue of held
/// slices for two dozen devices.
const ABSENT_MS_MAX: i64 = 7 * 24 * 3_600_000;

/// By device UUID, the end of the last window that was made, Unix milliseconds.
pub type Until = BTreeMap<String, i64>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    boot_id: String,
    until_ms: Until,
}

/// What an earlier collector left to go on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// How far its windows reach.
    pub until_ms: Until,
    /// When the node was booted, Unix milliseconds, where that was since then.
    pub rebooted_ms: Option<i64>,
}

/// The file in the state directory.
pub struct Absence {
    file: PathBuf,
    kept: Kept,
}

impl Absence {
    /// Over the file in this state directory. `booted_ms` is when this boot began, Unix milliseconds; where it can't be
    /// read, a reboot leaves nothing to go on from.
    pub fn open(directory: &Path, boot_id: &str, booted_ms: Option<i64>) -> (Self, Before) {
        let file = directory.join("observed.json");
        let kept = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        let before = kept.map_or_else(Before::default, |kept| {
            // Where either boot id couldn't be read, nothing says that a reboot lies in between.
            let same = kept.boot_id == boot_id || kept.boot_id.is_empty() || boot_id.is_empty();
            match (same, booted_ms) {
                (true, _) => Before { until_ms: kept.until_ms, rebooted_ms: None },
                (false, Some(_)) => Before { until_ms: kept.until_ms, rebooted_ms: booted_ms },
                (false, None) => Before::default(),
            }
        });
        let kept = Kept { boot_id: boot_id.to_owned(), until_ms: before.until_ms.clone() };
        (Self { file, kept }, before)
    }

    /// Remembers the windows of these batches.
    ///
    /// # Errors
    /// The file can't be written; a later gap is then longer than it was, and what it covers was sent before.
    pub fn reached(&mut self, batches: &[Batch]) -> std::io::Result<()> {
        let mut moved = false;
        for batch in batches {
            for window in &batch.device_windows {
                let Some(device) = batch.devices.get(window.device as usize) else { continue };
                let until = self.kept.until_ms.entry(device.uuid.clone()).or_insert(i64::MIN);
                moved |= window.end_ms > *until;
                *until = window.end_ms.max(*until);
            }
        }
        if !moved {
            return Ok(());
        }
        let text = serde_json::to_vec(&self.kept).map_err(std::io::Error::other)?;
        replace(&self.file, &text)
    }
}

impl Before {
    /// Where the gap of a device begins that is first read at `read_ms`: where the last window ended, but no more than a
    /// week ago. `None` where there is no gap.
    pub fn gap_start_ms(&self, uuid: &str, read_ms: i64) -> Option<i64> {
        let at_ms = (*self.until_ms.get(uuid)?).max(read_ms - ABSENT_MS_MAX);
        (at_ms < read_ms).then_some(at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::wire::{Device, DeviceWindow};

    fn batch(end_ms: i64) -> Batch {
        let window = DeviceWindow { start_ms: 0, end_ms, ..DeviceWindow::default() };
        let device = Device { uuid: "GPU-a".into(), ..Device::default() };
        Batch { devices: vec![device], device_windows: vec![window], ..Batch::default() }
    }

    #[test]
    fn a_start_finds_where_the_last_one_ended_and_whether_a_reboot_lies_between() {
        let folder = tempfile::tempdir().expect("folder");
        let open = |boot: &str, booted_ms| Absence::open(folder.path(), boot, booted_ms);
        let (mut absence, before) = open("boot-1", Some(1_000));
        assert_eq!(before, Before::default());
        absence.reached(&[batch(5_000), batch(9_000), batch(7_000)]).expect("written");
        let (_, before) = open("boot-1", Some(1_000));
        assert_eq!(before.rebooted_ms, None);
        assert_eq!(before.gap_start_ms("GPU-a", 20_000), Some(9_000));
        assert_eq!(before.gap_start_ms("GPU-a", 9_000), None);
        assert_eq!(before.gap_start_ms("GPU-new", 20_000), None);
        let late = 9_000 + 2 * ABSENT_MS_MAX;
        assert_eq!(before.gap_start_ms("GPU-a", late), Some(late - ABSENT_MS_MAX));
        let (_, after) = open("boot-2", Some(15_000));
        assert_eq!((after.rebooted_ms, after.gap_start_ms("GPU-a", 20_000)), (Some(15_000), Some(9_000)));
        assert_eq!(open("boot-2", None).1, Before::default(), "when it was is nobody's to say");
        assert_eq!(open("", Some(15_000)).1.rebooted_ms, None);
    }
}
