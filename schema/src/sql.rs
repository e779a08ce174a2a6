//! Every line of SQL, by name. The statements live in `migrations/` and `queries/`, one commented statement a file.
//!
//! Rust names a file and binds values through `{name:Type}`; nothing is ever formatted into a statement.

use sha2::{Digest, Sha256};

/// A numbered, idempotent DDL statement. A landed file is never edited: a test pins its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// 1, 2, 3, ... without gaps.
    pub number: u32,
    /// The file's name without its ending.
    pub name: &'static str,
    /// The statement.
    pub sql: &'static str,
}

impl Migration {
    /// First 16 hexadecimal digits of the SHA-256 of the statement.
    pub fn checksum(&self) -> String {
        Sha256::digest(self.sql.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

macro_rules! migrations {
    ($($number:literal $name:literal,)*) => {
        /// All migrations in order.
        pub const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            name: $name,
            sql: include_str!(concat!("../migrations/", $name, ".sql")),
        },)*];
    };
}

migrations! {
    1 "0001_create_schema_migrations",
    2 "0002_create_usage_raw",
    3 "0003_create_device_raw",
    4 "0004_create_gaps_raw",
    5 "0005_create_losses",
    6 "0006_create_batches",
    7 "0007_create_owners",
    8 "0008_create_devices",
    9 "0009_create_inventory",
    10 "0010_create_collectors",
    11 "0011_create_tokens",
    12 "0012_create_dead_letters",
    13 "0013_create_usage_hourly",
    14 "0014_create_device_hourly",
    15 "0015_create_hour_pointers",
    16 "0016_create_config_versions",
    17 "0017_create_host_memory_raw",
    18 "0018_add_unwatched",
    19 "0019_create_charges",
    20 "0020_create_device_days",
    21 "0021_create_rated_days",
    22 "0022_create_postings",
    23 "0023_create_closed_statements",
    24 "0024_create_period_closings",
    25 "0025_create_usage_closed",
    26 "0026_create_device_closed",
    27 "0027_create_imported_runs",
    28 "0028_create_imports",
    29 "0029_create_xids_raw",
    30 "0030_create_charges_closed",
}

/// Hour close, first half: appends `usage_hourly` rows of the given hours under a revision.
pub const CLOSE_USAGE: &str = concat!(
    "INSERT INTO usage_hourly\n",
    include_str!("../queries/imported_pieces.sql"),
    include_str!("../queries/close_ledger.sql"),
    include_str!("../queries/close_usage.sql")
);

/// Hour close, second half: appends `device_hourly` rows of the given hours under a revision.
pub const CLOSE_DEVICE: &str = concat!(
    "INSERT INTO device_hourly\n",
    include_str!("../queries/imported_pieces.sql"),
    include_str!("../queries/close_ledger.sql"),
    include_str!("../queries/close_device.sql")
);

/// Hour close of virtual pools, first half: appends `usage_hourly` rows of imported runs.
pub const CLOSE_POOL_USAGE: &str = concat!(
    "INSERT INTO usage_hourly\n",
    include_str!("../queries/imported_pieces.sql"),
    include_str!("../queries/close_pool_usage.sql")
);

/// Hour close of virtual pools, second half: appends `device_hourly` rows.
pub const CLOSE_POOL_DEVICE: &str = concat!(
    "INSERT INTO device_hourly\n",
    include_str!("../queries/imported_pieces.sql"),
    include_str!("../queries/close_pool_device.sql")
);

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = include_str!(concat!("../queries/", $file, ".sql"));)*
    };
}

queries! {
    /// The first instant at which any device was in service.
    FIRST_SERVICE = "first_service";
    /// Runs that are imported already.
    IMPORTED_RUNS = "imported_runs";
    /// Whether a revision of some hours adds up, and what its pointer rows say.
    VERIFY_CLOSE = "verify_close";
    /// Hours whose published revision doesn't fit what is there now, with the fingerprint of what is there.
    DIRTY_HOURS = "dirty_hours";
    /// Partitions of hourly tables that no reader can see any more.
    SUPERSEDED_PARTITIONS = "superseded_partitions";
    /// Sums of the usage ledger between change instants.
    USAGE_TOTALS = "usage_totals";
    /// Sums of the closed usage of a period between change instants.
    USAGE_TOTALS_CLOSED = "usage_totals_closed";
    /// Sums of the device ledger between change instants.
    DEVICE_TOTALS = "device_totals";
    /// The published revision of each hour of a window.
    PUBLISHED_REVISIONS = "published_revisions";
    /// What each day was rated from under some rules.
    RATED_FINGERPRINTS = "rated_fingerprints";
    /// A day's usage ledger between change instants, by workload.
    DAY_USAGE = "day_usage";
    /// Appends a day's device ledger under a revision.
    POST_DEVICE_DAYS = "post_device_days";
    /// What a revision of a day says was held, by charges and by devices.
    RATED_HELD = "rated_held";
    /// Sums of charges by tenant and line.
    CHARGE_LINES = "charge_lines";
    /// Sums of charges by tenant, line and device between edges.
    CHARGE_PIECES = "charge_pieces";
    /// Device time held by tenant and device.
    CHARGE_DEVICES = "charge_devices";
    /// Sums of the device ledger of rated days.
    DEVICE_TOTALS_RATED = "device_totals_rated";
    /// Partitions of rated days that no reader can see any more.
    SUPERSEDED_DAYS = "superseded_days";
    /// Copies the hourly usage that a period is closed from.
    COPY_USAGE_CLOSED = "copy_usage_closed";
    /// Copies the hourly device ledger that a period is closed from.
    COPY_DEVICE_CLOSED = "copy_device_closed";
    /// Copies the daily charges that a period is closed from.
    COPY_CHARGES_CLOSED = "copy_charges_closed";
    /// A tenant's charges of a closed period, by line, device and day.
    CHARGE_PIECES_CLOSED = "charge_pieces_closed";
    /// A checksum of the closed rows of a period.
    CLOSED_CHECKSUM = "closed_checksum";
    /// How a period was closed.
    PERIOD_CLOSING = "period_closing";
    /// Postings of some periods.
    POSTINGS = "postings";
    /// Corrections of a closed period, wherever they were posted.
    CORRECTIONS = "corrections";
    /// The version of a configuration file that was loaded last.
    CONFIG_LAST = "config_last";
    /// Credits for lost work, wherever they were posted.
    CREDITS = "credits";
    /// Devices that failed in a window, by themselves or with their node.
    FAILURES = "failures";
    /// XIDs in a window that end what runs on a device.
    FATAL_XIDS = "fatal_xids";
    /// The workloads that held failed devices up to the failure.
    FAILURE_HOLDERS = "failure_holders";
    /// The rows of the usage ledger of some workloads, by the hour.
    WORKLOAD_HOURS = "workload_hours";
    /// Nodes that still have to deliver up to an instant.
    LATE_NODES = "late_nodes";
    /// Rows refused in a window.
    DEAD_LETTERS = "dead_letters";
    /// The rows of a closed period that a line may sum, by the hour.
    LINE_HOURS_CLOSED = "line_hours_closed";
    /// The content of a version of a configuration file.
    CONFIG_CONTENT = "config_content";
    /// Owners of the workloads that used anything in a window.
    OWNERS = "owners";
    /// Devices with their in-service windows.
    DEVICES = "devices";
    /// The rows of the usage ledger that a line may sum, by the hour.
    LINE_HOURS = "line_hours";
    /// The number of a version of a configuration file.
    CONFIG_NUMBER = "config_number";
    /// First and last published hours of all.
    MONTHS = "months";
    /// Host memory of some workloads.
    HOST_MEMORY = "host_memory";
    /// The raw slices behind a line.
    SLICES = "slices";
    /// Hours that are published in a window, first and last.
    PUBLISHED_HOURS = "published_hours";
    /// Credentials of nodes that aren't revoked.
    COLLECTORS = "collectors";
    /// Tokens that aren't revoked.
    TOKENS = "tokens";
    /// The values of settings that the service relies on.
    SETTINGS = "settings";
    /// For how many months tables of raw rows keep them.
    RETENTION = "retention";
    /// Sets that for a table whose rows are of an hour.
    RETAIN_RAW = "retain_raw";
    /// Sets that for refused rows.
    RETAIN_DEAD_LETTERS = "retain_dead_letters";
    /// Makes setting it cheap.
    RETAIN_CHEAPLY = "retain_cheaply";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_without_gaps_and_every_file_is_listed() {
        let numbers: Vec<u32> = MIGRATIONS.iter().map(|m| m.number).collect();
        assert_eq!(numbers, (1..=MIGRATIONS.len() as u32).collect::<Vec<_>>());
        let files =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).expect("readable").count();
        // All but the file of checksums.
        assert_eq!(files - 1, MIGRATIONS.len());
    }

    #[test]
    fn a_landed_migration_is_never_edited() {
        let all: Vec<String> =
            MIGRATIONS.iter().map(|m| format!("{:04} {}", m.number, m.checksum())).collect();
        let pinned: Vec<&str> = include_str!("../migrations/pinned.txt").lines().collect();
        assert_eq!(all, pinned, "a landed migration changed: add a new one instead");
    }

    #[test]
    fn statements_explain_themselves() {
        for m in MIGRATIONS {
            assert!(m.sql.starts_with("-- "), "{} says nothing about why", m.name);
            assert!(m.sql.contains("IF NOT EXISTS"), "{} can't run twice", m.name);
        }
    }
}
