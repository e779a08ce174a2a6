//! Where the engine's library lies.

use std::path::{Path, PathBuf};

/// The pinned version, as `deploy/install-engine.sh` names its folder.
pub const VERSION: &str = "26.7.3-stable.1";

/// No library in any of the known places.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the embedded ClickHouse is not installed (looked at {}): run `deploy/install-engine.sh`, or name libchdb.so in SLICEMETER_ENGINE_LIBRARY", shown(.looked_at))]
pub struct Missing {
    /// Every place, in order.
    pub looked_at: Vec<PathBuf>,
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The library: `explicit` if given, else `$SLICEMETER_ENGINE_LIBRARY` if set, else where
/// `deploy/install-engine.sh` puts it. A place that was named and holds no file is an error: nothing
/// else is tried.
pub fn find(explicit: Option<&Path>) -> Result<PathBuf, Missing> {
    find_among(explicit, |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn find_among(
    explicit: Option<&Path>,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, Missing> {
    let installed = || {
        let cache =
            || variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
        let directory = variable("SLICEMETER_ENGINE_DIR")
            .or_else(|| cache().map(|cache| cache.join("slicemeter/engine")));
        directory.map(|directory| directory.join(VERSION).join("libchdb.so"))
    };
    let candidate =
        explicit.map(Path::to_path_buf).or_else(|| variable("SLICEMETER_ENGINE_LIBRARY")).or_else(installed);
    match candidate {
        Some(path) if path.is_file() => Ok(path),
        candidate => Err(Missing { looked_at: candidate.into_iter().collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_wins_and_a_missing_one_says_how_to_install() {
        let home = tempfile::tempdir().expect("a directory");
        let installed = home.path().join(".cache/slicemeter/engine").join(VERSION).join("libchdb.so");
        let variable = |name: &str| (name == "HOME").then(|| home.path().to_path_buf());

        let missing = find_among(None, variable).expect_err("nothing is installed");
        assert_eq!(missing.looked_at, std::slice::from_ref(&installed));
        assert!(missing.to_string().contains("deploy/install-engine.sh"));

        std::fs::create_dir_all(installed.parent().expect("it has one")).expect("created");
        std::fs::write(&installed, "").expect("written");
        assert_eq!(find_among(None, variable), Ok(installed));
        assert!(
            find_among(Some(Path::new("/nowhere/libchdb.so")), variable).is_err(),
            "a named library is not replaced by another"
        );
    }
}
