//! A directory for one measured node: on disk as a node's state is, but with its `/proc` in memory as a real one is.
//! On disk, the thousands of small files of 2,800 processes take minutes to make on a busy machine.

use anyhow::{Context, Result};
use std::path::Path;
use tempfile::TempDir;

/// Where Linux keeps a file system in memory for everyone.
const MEMORY: &str = "/dev/shm";

/// The directory; both parts go when it is dropped.
pub struct NodeDir {
    state: TempDir,
    _procfs: TempDir,
}

impl NodeDir {
    /// Makes it.
    ///
    /// # Errors
    /// One of the two file systems can't be written.
    pub fn new() -> Result<Self> {
        let state = tempfile::tempdir()?;
        let procfs = tempfile::tempdir_in(MEMORY).context(MEMORY)?;
        std::os::unix::fs::symlink(procfs.path(), state.path().join("proc"))?;
        Ok(Self { state, _procfs: procfs })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.state.path()
    }
}
