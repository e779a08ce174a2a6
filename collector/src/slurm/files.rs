//! Job files that a site's prolog writes, in the two forms in use: named by GPU index (`3`), index and GPU instance
//! (`3.7`) or UUID, holding one `job` a line or `job uid`. The epilog removes them; one that failed leaves a stale file,
//! so a file is worth less than the scheduler and stands in only where the scheduler can't be asked.

use crate::allocation::{DeviceName, Target};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A file is a few bytes; a folder has one a device or instance.
const FILE_BYTES_MAX: u64 = 64 << 10;
const FILES_MAX: usize = 1024;

/// One job on one device, as a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// Which device: the name of the file.
    pub target: Target,
    /// Which job.
    pub job: u64,
    /// Whose, where the file says.
    pub uid: Option<u32>,
    /// When the file was written, Unix milliseconds.
    pub since_ms: i64,
}

/// The jobs of a folder of such files.
///
/// # Errors
/// The folder can't be read.
pub fn read_job_files(folder: &Path) -> std::io::Result<Vec<JobFile>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)?.take(FILES_MAX) {
        let entry = entry?;
        let Some(target) = target(&entry.file_name().to_string_lossy()) else { continue };
        let Ok(facts) = entry.metadata() else { continue };
        if !facts.is_file() || facts.len() > FILE_BYTES_MAX {
            continue;
        }
        let written = facts.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let since_ms = written.and_then(|age| i64::try_from(age.as_millis()).ok()).unwrap_or(0);
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        found.extend(jobs(&text).into_iter().map(|(job, uid)| JobFile {
            target: target.clone(),
            job,
            uid,
            since_ms,
        }));
    }
    found.sort_by(|a, b| (&a.target, a.job).cmp(&(&b.target, b.job)));
    Ok(found)
}

fn target(name: &str) -> Option<Target> {
    if name.starts_with("GPU-") {
        return Some(DeviceName::Uuid(name.to_owned()).into());
    }
    if name.starts_with("MIG-") {
        return Some(DeviceName::MigUuid(name.to_owned()).into());
    }
    let (index, instance) = match name.split_once('.') {
        Some((index, instance)) => (index, Some(instance.parse().ok()?)),
        None => (name, None),
    };
    let device = DeviceName::Index(index.parse().ok()?);
    Some(Target { device, gpu_instance: instance, compute_instance: None })
}

fn jobs(text: &str) -> Vec<(u64, Option<u32>)> {
    let job = |line: &str| {
        let mut words = line.split_whitespace();
        let job = words.next()?.parse().ok()?;
        Some((job, words.next().and_then(|uid| uid.parse().ok())))
    };
    text.lines().filter_map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_conventions_are_read_and_strange_files_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("file");
        write("0", "211 1000\n");
        write("3.7", "300\n301\n");
        write("MIG-2ce7a541", "212 1001");
        write("GPU-8f0a", "");
        write("README", "211\n");
        write("1", "not a job\n");
        std::fs::create_dir(folder.path().join("2")).expect("folder");
        let found: Vec<_> = read_job_files(folder.path())
            .expect("read")
            .into_iter()
            .map(|file| (file.target.device, file.target.gpu_instance, file.job, file.uid))
            .collect();
        let want = [
            (DeviceName::MigUuid("MIG-2ce7a541".into()), None, 212, Some(1001)),
            (DeviceName::Index(0), None, 211, Some(1000)),
            (DeviceName::Index(3), Some(7), 300, None),
            (DeviceName::Index(3), Some(7), 301, None),
        ];
        assert_eq!(found, want);
        assert!(read_job_files(&folder.path().join("none")).is_err());
    }
}
