//! A `/proc` that a test writes.

use std::path::{Path, PathBuf};

/// What a process shows of itself.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Lines of its cgroup file.
    pub cgroup: String,
    /// Real user id.
    pub uid: u32,
    /// Login id; `None` where nobody logged in.
    pub login: Option<u32>,
    /// Its user namespace's map; empty for the host's own.
    pub uid_map: &'static str,
    /// Start, clock ticks since boot.
    pub ticks: u64,
}

impl Default for Shown {
    fn default() -> Self {
        Self { cgroup: "0::/\n".into(), uid: 0, login: None, uid_map: "", ticks: 500 }
    }
}

/// The folder; processes come and go.
pub struct Proc(PathBuf);

impl Proc {
    /// An empty one below `dir`.
    pub fn new(dir: &Path) -> Self {
        let root = dir.join("proc");
        std::fs::create_dir_all(root.join("sys/kernel/random")).expect("folder");
        std::fs::write(root.join("stat"), "cpu 0\nbtime 1000\n").expect("file");
        Self(root)
    }

    /// Where it is.
    pub fn root(&self) -> PathBuf {
        self.0.clone()
    }

    /// A process is there.
    pub fn put(&self, pid: u32, shown: &Shown) {
        let dir = self.0.join(pid.to_string());
        std::fs::create_dir_all(&dir).expect("folder");
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("file");
        let Shown { uid, ticks, .. } = shown;
        write(
            "stat",
            &format!("{pid} (python3) S 1 {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0\n"),
        );
        write("status", &format!("Name:\tpython3\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"));
        write("cgroup", &shown.cgroup);
        write("loginuid", &shown.login.unwrap_or(u32::MAX).to_string());
        let host = "         0          0 4294967295\n";
        write("uid_map", if shown.uid_map.is_empty() { host } else { shown.uid_map });
    }

    /// A process is gone.
    pub fn remove(&self, pid: u32) {
        std::fs::remove_dir_all(self.0.join(pid.to_string())).expect("it was there");
    }
}
