//! The spool where it is tight: in memory, full, or on a disk without room. Every loss is counted and declared.

use crate::ingest::Ingest;
use crate::rig::{Rig, Setup, node};
use nvidia_ml::scenario::{Process, Scenario};
use schema::wire::Batch;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_spool_in_memory_is_found_shown_and_shipped_from_at_once() {
    let memory = tempfile::tempdir_in("/dev/shm").expect("every Linux has /dev/shm");
    let ingest = Ingest::start(200);
    let setup = Setup {
        state: Some(memory.path().join("state")),
        server: Some(ingest.url.clone()),
        ..Setup::default()
    };
    let mut rig = Rig::running(&node("h100", 1), setup);
    rig.until_at_least("slicemeter_collector_spool_volatile", &[], 1.0);
    assert!(rig.log().contains("lost at a reboot"), "{}", rig.log());
    rig.until("two batches with the service", |_| (ingest.came().len() >= 2).then_some(()));
    rig.until_at_least("slicemeter_collector_shipped_batches_total", &[], 2.0);
    assert!(rig.stop().success());
    assert!(rig.spooled().len() <= 2, "what was shipped has left the spool");
}

/// 300 processes of 300 users: batches of some size.
fn crowded() -> Scenario {
    let mut scenario = node("h100", 6);
    for at in 0..300_u32 {
        let process = Process::new(5000 + at, (at % 6) as usize).uid(70_000 + at * 37);
        scenario.processes.push(process.busy(1.0).memory_mib(f64::from(64 + at)));
    }
    scenario
}

/// Every sequence up to the last one is either here or declared as lost; returns both counts.
fn check_accounted(batches: &[Batch]) -> (usize, usize) {
    let incarnation = &batches.last().expect("a batch").incarnation;
    let here: BTreeSet<u64> =
        batches.iter().filter(|b| b.incarnation == *incarnation).map(|b| b.sequence).collect();
    let losses = batches.iter().flat_map(|b| &b.losses).filter(|loss| loss.incarnation == *incarnation);
    let lost: BTreeSet<u64> = losses.flat_map(|loss| loss.first_sequence..=loss.last_sequence).collect();
    assert!(here.is_disjoint(&lost), "here {here:?}, declared as lost {lost:?}");
    let all: BTreeSet<u64> = here.union(&lost).copied().collect();
    let last = *here.last().expect("a batch");
    let missing: Vec<u64> = (0..=last).filter(|sequence| !all.contains(sequence)).collect();
    assert!(missing.is_empty(), "neither here nor declared: {missing:?}; here {here:?}, lost {lost:?}");
    (here.len(), lost.len())
}

#[test]
fn a_full_spool_drops_the_oldest_first_and_declares_it() {
    let setup = Setup { spool: "bytes_max = 131072\nsegment_bytes_max = 65536", ..Setup::default() };
    let mut rig = Rig::running(&crowded(), setup);
    rig.until_at_least("slicemeter_collector_spool_dropped_batches_total", &[], 1.0);
    let page = rig.metrics();
    assert!(page.sample("slicemeter_collector_spool_bytes", &[]).is_some_and(|bytes| bytes <= 131_072.0));
    // The declaration travels with the next batch; one more tells that it was written.
    let stop_at = page.sample("slicemeter_collector_ticks_total", &[]).expect("ticks") + 10.0;
    rig.until_at_least("slicemeter_collector_ticks_total", &[], stop_at);
    assert!(rig.stop().success());
    let batches = rig.spooled();
    assert!(batches.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
    assert!(batches[0].sequence > 0, "the oldest went first");
    let (here, lost) = check_accounted(&batches);
    assert!(here > 0 && lost > 0, "{here} here, {lost} lost");
}

/// A command as root, or through sudo where the tests don't run as root.
fn as_root(program: &str) -> Command {
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}

/// A file system in memory of its own, taken away again at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Self {
        std::fs::create_dir_all(at).expect("a folder");
        let options = format!("size={size},mode=1777");
        let mut command = as_root("mount");
        command.args(["-t", "tmpfs", "-o", &options, "slicemeter-test"]).arg(at);
        let output = command.output().expect("mount runs");
        assert!(output.status.success(), "mounting a small file system needs root or sudo: {output:?}");
        Self(at.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a collector that a failed test left may still be ending.
        let _ = as_root("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_disk_without_room_costs_batches_not_sampling_and_heals() {
    let place = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::mount(&place.path().join("disk"), "1m");
    let setup = Setup { state: Some(disk.0.join("state")), ..Setup::default() };
    let mut rig = Rig::running(&crowded(), setup);
    rig.until_at_least("slicemeter_collector_spool_bytes", &[], 1.0);
    let filler = disk.0.join("filler");
    fill(&filler);
    rig.until_at_least("slicemeter_collector_spool_dropped_batches_total", &[], 3.0);
    let full = rig.metrics();
    assert_eq!(rig.get("/healthz").map(|answer| answer.status), Some(200));
    assert!(full.sample("slicemeter_collector_spool_segments", &[]).is_some_and(|count| count <= 3.0));
    let ticks = full.sample("slicemeter_collector_ticks_total", &[]).expect("ticks");
    rig.until_at_least("slicemeter_collector_ticks_total", &[], ticks + 4.0);
    std::fs::remove_file(&filler).expect("removed");
    let bytes = rig.metrics().sample("slicemeter_collector_spool_bytes", &[]).expect("bytes");
    rig.until_at_least("slicemeter_collector_spool_bytes", &[], bytes + 1.0);
    assert!(rig.stop().success());
    let (here, lost) = check_accounted(&rig.spooled());
    assert!(here > 0 && lost >= 3, "{here} here, {lost} lost");
}

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("a file");
    for piece in [vec![0_u8; 65_536], vec![0_u8; 4096]] {
        while std::io::Write::write_all(&mut file, &piece).is_ok() {}
    }
}
