//! How far a collector's windows reach, kept across its starts: the time in which none ran is a gap with known edges,
//! which a scheduler's record can cover. Nobody gets free GPUs by stopping the collector.
//!
//! A gap that a reboot lies in isn't opened here: what ran before it is over, and how long the node was down isn't the
//! collector's to say.

use schema::wire::Batch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A gap is opened up to this long: a day of windows of sixteen devices is what the queue of held slices takes.
const ABSENT_MS_MAX: i64 = 24 * 3_600_000;

/// By device UUID, the end of the last window that was made, Unix milliseconds.
pub type Until = BTreeMap<String, i64>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    boot_id: String,
    until_ms: Until,
}

/// The file in the state directory.
pub struct Absence {
    file: PathBuf,
    kept: Kept,
}

impl Absence {
    /// Over the file in this state directory.
    pub fn open(directory: &Path, boot_id: &str) -> (Self, Until) {
        let file = directory.join("observed.json");
        let kept = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        // Where either boot id couldn't be read, nothing says that a reboot lies in between.
        let same = |kept: &Kept| kept.boot_id == boot_id || kept.boot_id.is_empty() || boot_id.is_empty();
        let until = kept.filter(same).map(|kept| kept.until_ms).unwrap_or_default();
        let kept = Kept { boot_id: boot_id.to_owned(), until_ms: until.clone() };
        (Self { file, kept }, until)
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
        let new = self.file.with_extension("new");
        std::fs::write(&new, text)?;
        std::fs::rename(&new, &self.file)
    }
}

/// Where the gap of a device begins that is first read at `read_ms`: where the last window ended, but no more than a day
/// ago. `None` where there is no gap.
pub fn gap_start_ms(until: &Until, uuid: &str, read_ms: i64) -> Option<i64> {
    let at_ms = (*until.get(uuid)?).max(read_ms - ABSENT_MS_MAX);
    (at_ms < read_ms).then_some(at_ms)
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
    fn a_start_finds_where_the_last_one_ended_but_not_across_a_reboot() {
        let folder = tempfile::tempdir().expect("folder");
        let (mut absence, until) = Absence::open(folder.path(), "boot-1");
        assert_eq!(until, Until::new());
        absence.reached(&[batch(5_000), batch(9_000), batch(7_000)]).expect("written");
        let (_, until) = Absence::open(folder.path(), "boot-1");
        assert_eq!(gap_start_ms(&until, "GPU-a", 20_000), Some(9_000));
        assert_eq!(gap_start_ms(&until, "GPU-a", 9_000), None);
        assert_eq!(gap_start_ms(&until, "GPU-new", 20_000), None);
        assert_eq!(gap_start_ms(&until, "GPU-a", 9_000 + 2 * ABSENT_MS_MAX), Some(9_000 + ABSENT_MS_MAX));
        assert_eq!(Absence::open(folder.path(), "boot-2").1, Until::new());
    }
}
