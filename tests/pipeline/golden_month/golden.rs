//! The golden files of the month: one folder a month, one file a statement.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where they lie.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/month")
}

/// The manifest is a hash of everything that made the month, the program's version among it: the one thing on a statement
/// that another build changes.
fn without_manifest(text: &str) -> String {
    let Some((before, after)) = text.split_once("manifest ") else { return text.into() };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    format!("{before}manifest <manifest>{rest}")
}

/// The statements in `made` are those of the month's folder, byte for byte; with `UPDATE_GOLDEN` set they are written there.
pub fn check(month: &str, made: &Path) {
    let folder = folder().join(month);
    let names = |folder: &Path| -> BTreeSet<String> {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
    };
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for name in names(made) {
        let got = without_manifest(&std::fs::read_to_string(made.join(&name)).expect("a statement"));
        let path = folder.join(&name);
        if update {
            std::fs::create_dir_all(&folder).expect("the golden folder is writable");
            std::fs::write(&path, &got).expect("the golden folder is writable");
        }
        let want = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = want.lines().zip(got.lines()).position(|(want, got)| want != got);
        assert!(
            want == got,
            "{month}/{name} differs, first at line {:?}: if the new text is right, run with UPDATE_GOLDEN=1 and read the \
             difference\n{got}",
            differs.map(|at| at + 1)
        );
    }
    assert_eq!(names(&folder), names(made), "the statements of {month}");
}
