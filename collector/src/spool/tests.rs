//! What a spool must survive: power cuts in a write, flipped bits, a full disk's worth of backlog, restarts.

use super::*;

fn settings(directory: &Path) -> config::Spool {
    config::Spool { directory: directory.into(), bytes_max: 1 << 20, segment_bytes_max: 64 << 10 }
}

/// A batch whose content doesn't compress, of about `len` bytes.
fn batch(sequence: u64, len: usize) -> Batch {
    let mut state = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let noise = (0..len).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 90) as u8)
    });
    Batch { incarnation: vec![7; 16], sequence, node: noise.collect(), ..Batch::default() }
}

fn sequences(chunk: &Chunk) -> Vec<u64> {
    chunk.batches.iter().map(|bytes| Batch::decode(&bytes[..]).expect("whole").sequence).collect()
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory.join("spool"))
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "seg"))
        .collect();
    files.sort();
    files
}

#[test]
fn what_was_appended_is_read_again_after_a_restart_until_acknowledged() {
    let dir = tempfile::tempdir().expect("folder");
    let mut spool = Spool::open(&settings(dir.path())).expect("opens");
    (0..5).for_each(|n| spool.append(&batch(n, 100)).expect("appends"));
    let chunk = spool.read(1 << 20);
    assert_eq!(sequences(&chunk), [0, 1, 2, 3, 4]);
    spool.acknowledge(chunk.end_of(3)).expect("acknowledges");
    drop(spool);
    let mut spool = Spool::open(&settings(dir.path())).expect("opens again");
    spool.append(&batch(5, 100)).expect("appends");
    let chunk = spool.read(1 << 20);
    assert_eq!(sequences(&chunk), [3, 4, 5]);
    spool.acknowledge(chunk.end_of(3)).expect("acknowledges");
    assert!(spool.read(1 << 20).batches.is_empty());
    drop(spool);
    let spool = Spool::open(&settings(dir.path())).expect("opens");
    assert_eq!((spool.stats().bytes, segments(dir.path()).len()), (0, 0));
}

#[test]
fn a_torn_tail_is_cut_at_every_length() {
    let whole = tempfile::tempdir().expect("folder");
    let mut spool = Spool::open(&settings(whole.path())).expect("opens");
    (0..3).for_each(|n| spool.append(&batch(n, 40)).expect("appends"));
    drop(spool);
    let bytes = std::fs::read(&segments(whole.path())[0]).expect("segment");
    let third = bytes.len() * 2 / 3;
    for len in third + 1..bytes.len() {
        let dir = tempfile::tempdir().expect("folder");
        make_private(&dir.path().join("spool")).expect("folder");
        std::fs::write(segment::path(&dir.path().join("spool"), 1), &bytes[..len]).expect("segment");
        let mut spool = Spool::open(&settings(dir.path())).expect("opens");
        let read = sequences(&spool.read(1 << 20));
        assert!(read == [0, 1] || read == [0], "{len}: {read:?}");
        spool.append(&batch(9, 40)).expect("appends after the cut");
        assert_eq!(sequences(&spool.read(1 << 20)).last(), Some(&9));
    }
}

#[test]
fn a_flipped_bit_costs_its_segment_and_is_declared() {
    let dir = tempfile::tempdir().expect("folder");
    let mut spool = Spool::open(&settings(dir.path())).expect("opens");
    (0..12).for_each(|n| spool.append(&batch(n, 20_000)).expect("appends"));
    let files = segments(dir.path());
    assert!(files.len() > 2);
    let mut bytes = std::fs::read(&files[0]).expect("segment");
    let in_second_record = bytes.len() / 2;
    bytes[in_second_record] ^= 1;
    std::fs::write(&files[0], bytes).expect("segment");
    let read = sequences(&spool.read(1 << 22));
    assert_eq!((read.first(), read.last()), (Some(&0), Some(&11)));
    assert!(files[0].with_extension("damaged").exists());
    assert_eq!(spool.stats().damaged_segments, 1);
    let lost = spool.take_losses();
    assert_eq!(lost.len(), 1);
    let declared: Vec<u64> = (lost[0].first_sequence..=lost[0].last_sequence).collect();
    assert!((0..12).all(|n| read.contains(&n) != declared.contains(&n)), "{read:?} {declared:?}");
}

#[test]
fn a_full_spool_drops_the_oldest_and_declares_every_batch() {
    let dir = tempfile::tempdir().expect("folder");
    let mut spool = Spool::open(&settings(dir.path())).expect("opens");
    (0..100).for_each(|n| spool.append(&batch(n, 30_000)).expect("appends"));
    assert!(spool.stats().bytes <= 1 << 20);
    let read = sequences(&spool.read(1 << 24));
    let lost = spool.take_losses();
    assert_eq!((lost.len(), lost[0].first_sequence), (1, 0), "one run of sequences");
    assert_eq!(lost[0].last_sequence + 1, read[0]);
    assert_eq!(read.last(), Some(&99));
    assert_eq!(spool.stats().dropped_batches, read[0]);
}

#[test]
fn a_segment_that_is_gone_after_a_crash_is_already_consumed() {
    let dir = tempfile::tempdir().expect("folder");
    let mut spool = Spool::open(&settings(dir.path())).expect("opens");
    (0..12).for_each(|n| spool.append(&batch(n, 20_000)).expect("appends"));
    drop(spool);
    std::fs::write(dir.path().join("spool/cursor"), "2 0\n").expect("cursor");
    std::fs::remove_file(&segments(dir.path())[0]).expect("the first segment went before the crash");
    let mut spool = Spool::open(&settings(dir.path())).expect("opens");
    assert_eq!(sequences(&spool.read(1 << 24)).last(), Some(&11));
}
