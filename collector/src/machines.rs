//! Names of libvirt's machines, by the UUID that NVML has for a vGPU's machine.
//!
//! libvirt keeps the state of every running machine in a file that root may read; reading it takes no word with a daemon
//! of root's, and costs a folder listing where nothing changed. Published as owners' records only: who holds a vGPU is
//! the driver's to say.

mod state_file;

use crate::allocation::{Allocations, Board, OwnerId};
use crate::owner::attribute;
use schema::owner::{Owner, OwnerKind, key};
use state_file::{Machine, machine};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Time between two looks at the folder: less than a collector that stops waits for the last word.
pub const PERIOD: Duration = Duration::from_secs(3);

/// Machines that are read at most: more than a host runs, and a bound on what a strange folder costs.
const MACHINES_MAX: usize = 4096;

/// What of a state file is read; name and UUID stand at the machine's beginning.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How long a machine that is gone is kept: longer than any window waits to be sent.
const KEEP_MS: i64 = 3_600_000;

/// The thread; it ends when this is dropped.
pub struct Machines {
    board: Board,
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Machines {
    /// Looks at `folder` at once, and every `period` from then on. `now_ms` is the present in Unix milliseconds.
    ///
    /// # Errors
    /// The system refused a thread.
    pub fn start(
        folder: PathBuf,
        period: Duration,
        now_ms: impl Fn() -> i64 + Send + 'static,
    ) -> std::io::Result<Self> {
        let board = Board::default();
        let mut book = Book::default();
        book.look(&folder, now_ms(), &board);
        let (end, ended) = mpsc::channel();
        let of_thread = board.clone();
        let run = move || {
            while ended.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                book.look(&folder, now_ms(), &of_thread);
            }
        };
        let thread = std::thread::Builder::new().name("machines".into()).stack_size(256 << 10).spawn(run)?;
        Ok(Self { board, end: Some(end), thread: Some(thread) })
    }

    /// Where names are published.
    pub fn board(&self) -> &Board {
        &self.board
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed already; nothing is left to undo.
            drop(thread.join());
        }
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Book {
    /// By file: when it was last changed, and what it says.
    files: HashMap<PathBuf, (SystemTime, Option<Machine>)>,
    /// Machines by UUID, with when they were last there.
    known: BTreeMap<String, (Machine, i64)>,
}

impl Book {
    fn look(&mut self, folder: &Path, now_ms: i64, board: &Board) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            // Without libvirt there is nothing that isn't known.
            if self.known.is_empty() {
                board.publish(Allocations {
                    source: "libvirt",
                    known_until_ms: i64::MAX,
                    ..Allocations::default()
                });
                return;
            }
            return self.publish(now_ms, board);
        };
        let is_state = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "xml");
        let paths = entries.flatten().map(|entry| entry.path()).filter(is_state).take(MACHINES_MAX);
        let before = std::mem::take(&mut self.files);
        for path in paths {
            let Ok(changed) = std::fs::metadata(&path).and_then(|file| file.modified()) else { continue };
            let said = match before.get(&path) {
                Some((then, said)) if *then == changed => said.clone(),
                _ => read(&path).and_then(|text| machine(&text)),
            };
            if let Some(machine) = &said {
                self.known.insert(machine.uuid.clone(), (machine.clone(), now_ms));
            }
            self.files.insert(path, (changed, said));
        }
        self.publish(now_ms, board);
    }

    fn publish(&mut self, now_ms: i64, board: &Board) {
        self.known.retain(|_, (_, seen_ms)| now_ms - *seen_ms < KEEP_MS);
        let mut owners: BTreeMap<OwnerId, Arc<Owner>> = BTreeMap::new();
        // By name and number last: of two machines that had one after the other, the latest seen is meant.
        let mut known: Vec<&(Machine, i64)> = self.known.values().collect();
        known.sort_unstable_by_key(|(_, seen_ms)| *seen_ms);
        for (machine, _) in known {
            let owner = Arc::new(record(machine));
            let ids = [Some(machine.uuid.clone()), Some(machine.name.clone()), machine.id.clone()];
            owners.extend(ids.into_iter().flatten().map(|id| ((OwnerKind::Vm, id), owner.clone())));
        }
        board.publish(Allocations {
            source: "libvirt",
            known_until_ms: now_ms,
            owners,
            ..Allocations::default()
        });
    }
}

fn record(machine: &Machine) -> Owner {
    let own = [(key::VM_ID, &machine.uuid), (attribute::VM, &machine.name)];
    let project = machine
        .project
        .iter()
        .flat_map(|(id, name)| [(attribute::OPENSTACK_PROJECT_ID, id), (attribute::OPENSTACK_PROJECT, name)]);
    let attributes = own.into_iter().chain(project).filter(|(_, value)| !value.is_empty());
    let attributes = attributes.map(|(key, value)| (key.to_owned(), value.clone()));
    Owner {
        kind: OwnerKind::Vm,
        attributes: attributes.collect(),
        evidence: format!("libvirt: machine {}", machine.name),
    }
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "8f0a1c2d-3e4b-5a69-7788-99aabbccddee";

    fn write(folder: &Path, name: &str, uuid: &str) {
        let text = format!(
            "<domstatus state='running' pid='7'><domain type='kvm' id='2'><name>{name}</name><uuid>{uuid}</uuid></domain></domstatus>"
        );
        std::fs::write(folder.join(format!("{name}.xml")), text).expect("file");
    }

    fn names(board: &Board) -> Vec<(String, String)> {
        let said = board.current();
        said.owners.iter().map(|((_, id), owner)| (id.clone(), owner.attributes["vm"].clone())).collect()
    }

    #[test]
    fn a_machine_is_found_by_uuid_by_name_and_by_number_and_is_one_workload() {
        let dir = tempfile::tempdir().expect("folder");
        write(dir.path(), "instance-00000001", UUID);
        std::fs::write(dir.path().join("autostart"), "").expect("file");
        std::fs::write(dir.path().join("broken.xml"), "<domstatus").expect("file");
        let (mut book, board) = (Book::default(), Board::default());
        book.look(dir.path(), 5_000, &board);
        let name = "instance-00000001".to_owned();
        assert_eq!(
            names(&board),
            [("2".into(), name.clone()), (UUID.into(), name.clone()), (name.clone(), name)]
        );
        let said = board.current();
        assert_eq!(said.known_until_ms, 5_000);
        let workloads: Vec<_> = said.owners.values().map(|owner| owner.workload()).collect();
        assert!(workloads.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_machine_that_is_gone_keeps_its_name_while_its_windows_may_wait() {
        let dir = tempfile::tempdir().expect("folder");
        write(dir.path(), "a", UUID);
        let (mut book, board) = (Book::default(), Board::default());
        book.look(dir.path(), 5_000, &board);
        std::fs::remove_file(dir.path().join("a.xml")).expect("file");
        book.look(dir.path(), 15_000, &board);
        assert_eq!(names(&board).len(), 3);
        book.look(dir.path(), 5_000 + KEEP_MS, &board);
        assert_eq!(names(&board), []);
    }

    #[test]
    fn without_libvirt_no_window_waits() {
        let dir = tempfile::tempdir().expect("folder");
        let board = Board::default();
        Book::default().look(&dir.path().join("none"), 5_000, &board);
        assert_eq!(board.current().known_until_ms, i64::MAX);
    }
}
