//! A small file that is whole at every instant: the old content or the new.

use std::io;
use std::path::Path;

/// Puts `content` in the place of a file.
///
/// # Errors
/// The folder can't be written; the file is what it was.
pub fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, content)?;
    std::fs::rename(&new, file)
}
