//! The engine's configuration, written anew at each start.
//!
//! An operator's own file (clusters, macros, backups) comes first; ours is merged over it, so that
//! the durable settings and the grants hold whatever it says. Everything lies in `engine.d` under
//! the data directory; the databases themselves in `clickhouse`.

use std::path::{Path, PathBuf};

/// What the session may do. It holds no source (FILE, URL, REMOTE, S3, ...) and no access
/// management: the engine itself then refuses table functions, engines and names that reach outside.
const GRANTS: &str = "SHOW, SELECT, INSERT, ALTER TABLE, ALTER DATABASE, ALTER VIEW, CREATE DATABASE, CREATE TABLE, \
    CREATE VIEW, CREATE DICTIONARY, CREATE TEMPORARY TABLE, DROP DATABASE, DROP TABLE, DROP VIEW, DROP DICTIONARY, \
    UNDROP TABLE, TRUNCATE, OPTIMIZE, CHECK, BACKUP, KILL QUERY, dictGet, CLUSTER, SYSTEM MERGES, SYSTEM TTL MERGES, \
    SYSTEM CLEANUP, SYSTEM SYNC REPLICA, SYSTEM FLUSH, SYSTEM VIEWS";

/// Defaults of every MergeTree table, asserted after the start. Without them a merge replaces
/// parts that were synced by parts that weren't, and a power cut loses both.
pub const MERGE_TREE: &[(&str, &str)] = &[
    ("fsync_after_insert", "1"),
    ("fsync_part_directory", "1"),
    ("min_rows_to_fsync_after_merge", "1"),
    // The library's own default; a merged part's sources stay this long, in seconds.
    ("old_parts_lifetime", "480"),
];

/// The places inside a data directory.
#[derive(Debug, Clone)]
pub struct Layout {
    data: PathBuf,
}

impl Layout {
    /// Of the data directory `data`, which need not exist yet.
    pub fn new(data: &Path) -> Self {
        Layout { data: data.to_path_buf() }
    }

    /// The databases.
    pub fn store(&self) -> PathBuf {
        self.data.join("clickhouse")
    }

    /// Where `BACKUP ... TO File('name')` writes.
    pub fn backups(&self) -> PathBuf {
        self.data.join("backups")
    }

    /// The file that one process holds locked.
    pub fn lock(&self) -> PathBuf {
        self.data.join("engine.lock")
    }

    /// The file that says where the running engine listens.
    pub fn endpoint(&self) -> PathBuf {
        self.data.join("engine.json")
    }

    /// The main configuration file.
    pub fn config(&self) -> PathBuf {
        self.data.join("engine.d").join("config.xml")
    }

    /// Creates the directories and writes the configuration; `operator` is the operator's own file.
    pub fn write(&self, operator: Option<&Path>, memory_bytes: u64) -> std::io::Result<()> {
        let config = self.config();
        let directory = self.data.join("engine.d");
        let overrides = directory.join("config.d");
        for path in [&self.store(), &self.backups(), &overrides] {
            std::fs::create_dir_all(path)?;
        }
        let main = match operator {
            Some(path) => std::fs::read_to_string(path)?,
            None => "<clickhouse></clickhouse>\n".to_owned(),
        };
        std::fs::write(config, main)?;
        let users = directory.join("users.xml");
        std::fs::write(&users, users_xml())?;
        // Merged last, by its name.
        std::fs::write(overrides.join("zz-slicemeter.xml"), self.ours(&users, memory_bytes))
    }

    fn ours(&self, users: &Path, memory_bytes: u64) -> String {
        let merge_tree: String =
            MERGE_TREE.iter().map(|(name, value)| format!("    <{name}>{value}</{name}>\n")).collect();
        format!(
            "<clickhouse>\n  <users_config>{}</users_config>\n  <backups><allowed_path>{}/</allowed_path></backups>\n  \
             <max_server_memory_usage>{memory_bytes}</max_server_memory_usage>\n  <merge_tree>\n{merge_tree}  </merge_tree>\n</clickhouse>\n",
            escape(users),
            escape(&self.backups()),
        )
    }
}

fn users_xml() -> String {
    format!(
        "<clickhouse>\n  <profiles><default></default></profiles>\n  <quotas><default></default></quotas>\n  <users><default>\n    \
         <password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>\n    \
         <grants><query>GRANT {GRANTS} ON *.*</query><query>GRANT TABLE ENGINE ON Distributed</query></grants>\n  \
         </default></users>\n</clickhouse>\n"
    )
}

/// A path as XML text.
fn escape(path: &Path) -> String {
    path.display().to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
