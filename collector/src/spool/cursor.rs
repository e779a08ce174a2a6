//! How far the server has got: written whole beside the old one, made durable, then renamed over it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A place in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cursor {
    /// Number of the segment.
    pub segment: u64,
    /// Bytes of it that are done with.
    pub offset: u64,
}

impl Cursor {
    /// From the spool's directory; the start where there is none or it can't be understood: what was sent before is
    /// then sent again, which counts once.
    pub(super) fn load(directory: &Path) -> Self {
        let text = std::fs::read_to_string(directory.join("cursor")).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(segment)), Some(Ok(offset))) => Self { segment, offset },
            _ => Self::default(),
        }
    }

    pub(super) fn store(self, directory: &Path) -> io::Result<()> {
        let new = directory.join("cursor.new");
        let mut file = File::create(&new)?;
        writeln!(file, "{} {}", self.segment, self.offset)?;
        file.sync_all()?;
        std::fs::rename(&new, directory.join("cursor"))?;
        File::open(directory)?.sync_all()
    }
}
