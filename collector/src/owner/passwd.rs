//! User names from a passwd file, read again when it changes. Users of a directory service aren't in it and stay
//! numbers: asking the directory could block a tick for minutes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

/// Names by user id.
pub(super) struct Passwd {
    path: Option<PathBuf>,
    changed: Option<SystemTime>,
    names: BTreeMap<u32, String>,
}

impl Passwd {
    /// From this file; without one nobody has a name.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, changed: None, names: BTreeMap::new() }
    }

    /// The user's name, if the file has it.
    pub fn name(&mut self, uid: u32) -> Option<String> {
        self.refresh();
        self.names.get(&uid).cloned()
    }

    /// The id of a name, if the file has it.
    pub fn uid(&mut self, name: &str) -> Option<u32> {
        self.refresh();
        self.names.iter().find(|(_, own)| *own == name).map(|(uid, _)| *uid)
    }

    fn refresh(&mut self) {
        let Some(path) = &self.path else { return };
        let changed = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        if changed != self.changed {
            self.changed = changed;
            self.names = parse(&std::fs::read_to_string(path).unwrap_or_default());
        }
    }
}

fn parse(file: &str) -> BTreeMap<u32, String> {
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next()?, fields.nth(1)?);
        Some((uid.parse().ok()?, name.to_owned()))
    };
    // The first entry of an id wins, as it does for getpwuid.
    file.lines().rev().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_entries_names_the_user() {
        let names =
            parse("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/:/bin/sh\nalias:x:1000:1000::/:/bin/sh\n#\n");
        assert_eq!(names.get(&1000).map(String::as_str), Some("ada"));
        assert_eq!(names.len(), 2);
    }
}
