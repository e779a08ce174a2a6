//! A process's first environment. Its user can write anything there: what is read is a claim.

use std::io::Read;
use std::path::Path;

/// What of an environment is read; what is looked for stands at its beginning or not far behind.
const BYTES_MAX: u64 = 1 << 20;

/// The `/proc/PID/environ` below `procfs`. It needs root or CAP_SYS_PTRACE: `None` without it.
pub fn read(procfs: &Path, pid: u32) -> Option<Vec<u8>> {
    let mut environ = Vec::new();
    let file = std::fs::File::open(procfs.join(format!("{pid}/environ"))).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut environ).ok()?;
    Some(environ)
}

/// The value of a variable; entries end in NUL.
pub fn value<'a>(environ: &'a [u8], name: &str) -> Option<&'a str> {
    environ.split(|byte| *byte == 0).find_map(|entry| {
        let entry = std::str::from_utf8(entry).ok()?;
        entry.strip_prefix(name)?.strip_prefix('=')
    })
}
