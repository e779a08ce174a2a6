//! What a start finds of what the last one left.

use super::*;
use schema::share::Share;

fn hold(pod: &str) -> KeptHold {
    KeptHold {
        pod: pod.into(),
        container: Some("main".into()),
        target: DeviceRef::LegacyMig { gpu: "GPU-a".into(), gpu_instance: 1, compute_instance: 0 },
        part: Part::Equal { of: Share::new(1, 2), group: "claim".into() },
        attributes: [("pod".to_owned(), pod.to_owned())].into(),
        evidence: "API server".into(),
        from_ms: 100,
        until_ms: 200,
        is_over: false,
        settled: true,
    }
}

fn place(folder: &tempfile::TempDir, boot_id: &str) -> Place {
    Place { directory: folder.path().into(), boot_id: boot_id.into() }
}

#[test]
fn a_start_finds_what_the_last_one_kept_but_not_across_a_reboot() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut file, found) = KeptFile::open(&place(&folder, "boot-1"));
    assert_eq!(found, []);
    assert_eq!(file.keep(vec![hold("p"), hold("q")]).expect("written"), 0);
    assert_eq!(KeptFile::open(&place(&folder, "boot-1")).1, [hold("p"), hold("q")]);
    assert_eq!(KeptFile::open(&place(&folder, "")).1.len(), 2, "nothing says that it booted");
    assert_eq!(KeptFile::open(&place(&folder, "boot-2")).1, []);
}

#[test]
fn what_did_not_change_is_not_written_again() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut file, _) = KeptFile::open(&place(&folder, "boot-1"));
    file.keep(vec![hold("p")]).expect("written");
    std::fs::remove_file(folder.path().join("holds.json")).expect("there");
    file.keep(vec![hold("p")]).expect("nothing to do");
    assert!(!folder.path().join("holds.json").exists());
    file.keep(vec![]).expect("written");
    assert!(folder.path().join("holds.json").exists());
}

#[test]
fn a_damaged_file_is_nothing_kept_and_the_next_one_replaces_it() {
    let folder = tempfile::tempdir().expect("folder");
    let whole = serde_json::to_string(&Content { boot_id: "boot-1".into(), holds: vec![hold("p")] });
    let whole = whole.expect("text");
    let no_share = whole.replace("\"den\":2", "\"den\":0");
    let backwards = whole.replace("\"until_ms\":200", "\"until_ms\":99");
    for text in ["", "{", &whole[..whole.len() / 2], no_share.as_str(), backwards.as_str()] {
        std::fs::write(folder.path().join("holds.json"), text).expect("written");
        let (mut file, found) = KeptFile::open(&place(&folder, "boot-1"));
        assert_eq!(found, [], "{text}");
        file.keep(vec![hold("q")]).expect("written");
        assert_eq!(KeptFile::open(&place(&folder, "boot-1")).1, [hold("q")]);
    }
}

#[test]
fn what_is_beyond_the_bound_is_counted() {
    let folder = tempfile::tempdir().expect("folder");
    let (mut file, _) = KeptFile::open(&place(&folder, "boot-1"));
    assert_eq!(file.keep(vec![hold("p"); HOLDS_MAX + 3]).expect("written"), 3);
    assert_eq!(KeptFile::open(&place(&folder, "boot-1")).1.len(), HOLDS_MAX);
}
