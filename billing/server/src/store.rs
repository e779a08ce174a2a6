//! The only place that names `clickhouse`: a connection whose settings are stated and checked, and capabilities over it.
//!
//! [`Reader`] can't write and [`Writer`] can't read, so a signature says what a caller may do to the ledger. Rows are
//! mapped to nouns in [`rows`] and [`totals`] only.

pub mod connect;

pub mod migrate;

pub mod retention;

pub mod rows;

pub mod write;

pub mod close;

pub mod totals;

pub mod charges;

pub mod owners;

pub mod closing;

pub mod failures;

pub mod keys;

pub mod host_memory;

pub mod inventory;

pub mod imports;

pub mod evidence;

pub mod versions;

pub use connect::{Address, connect};
pub use write::Writer;

use clickhouse::Client;
use schema::units::NanoGpuHours;

/// Whole access to one database: from it the capabilities are taken.
#[derive(Clone)]
pub struct Store {
    client: Client,
}

impl Store {
    /// What may read the ledger.
    pub fn reader(&self) -> Reader {
        Reader { client: self.client.clone() }
    }

    /// What may append to it.
    pub fn writer(&self) -> Writer {
        Writer { client: self.client.clone() }
    }

    /// What may close hours.
    pub fn closer(&self) -> close::Closer {
        close::Closer { client: self.client.clone() }
    }
}

/// Reads; every query has a time limit.
#[derive(Clone)]
pub struct Reader {
    client: Client,
}

/// The longest that a reader's query may run, seconds. A superseded revision outlives it, so that no query ever sees an hour
/// without rows.
pub const QUERY_SECONDS_MAX: u32 = 60;

impl Reader {
    fn query(&self, sql: &str) -> clickhouse::query::Query {
        self.client.query_raw(sql).with_setting("max_execution_time", QUERY_SECONDS_MAX.to_string())
    }
}

/// A partition to be dropped.
#[derive(clickhouse::Row, serde::Deserialize)]
struct Partition {
    table: String,
    partition_id: String,
}

/// Drops partitions, and says how many.
async fn drop_partitions(client: &Client, partitions: &[Partition]) -> Result<usize, StoreError> {
    for partition in partitions {
        client
            .query_raw("ALTER TABLE {table:Identifier} DROP PARTITION ID {partition:String}")
            .param("table", &partition.table)
            .param("partition", &partition.partition_id)
            .execute()
            .await
            .doing("drop a superseded revision")?;
    }
    Ok(partitions.len())
}

/// Why the store couldn't do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// ClickHouse refused, or couldn't be reached.
    #[error("could not {doing}")]
    Query {
        /// What was tried, in words that follow "could not".
        doing: &'static str,
        /// What ClickHouse said.
        #[source]
        source: clickhouse::error::Error,
    },
    /// A rated day's charges aren't what its devices say.
    #[error(
        "charges of the day that starts at Unix second {day_s} hold {charges} GPU-hours and its devices {devices}: nothing was published; close its hours again and report the defect"
    )]
    HeldDiffers {
        /// Start of the day, Unix seconds.
        day_s: u32,
        /// By the charges.
        charges: NanoGpuHours,
        /// By the devices.
        devices: NanoGpuHours,
    },
    /// Something in the store isn't what this version writes.
    #[error(
        "could not read {what}: {why}: it was written by another version; use that version, or rate again"
    )]
    Unreadable {
        /// What was read.
        what: &'static str,
        /// Why it can't be.
        why: String,
    },
    /// A setting that the ledger relies on isn't what was asked for.
    #[error(
        "ClickHouse has {name} = {got} where {want} was asked for: allow the user of [store] to change settings (profile without readonly)"
    )]
    Setting {
        /// The setting.
        name: String,
        /// What it must be.
        want: &'static str,
        /// What it is.
        got: String,
    },
    /// A landed migration isn't the one that ran.
    #[error(
        "migration {number:04} of this database has checksum {found}, this program's has {expected}: the database belongs to another version; use that version, or another [store] database"
    )]
    Migration {
        /// Number of the migration.
        number: u32,
        /// Checksum in the database.
        found: String,
        /// Checksum of the file in this program.
        expected: String,
    },
    /// The database has migrations that this program doesn't know.
    #[error(
        "this database has migration {0:04}, which this program doesn't know: use the newer program that made it"
    )]
    FromTheFuture(u32),
    /// A revision didn't add up and was not published.
    #[error("hour {hour_s} (Unix seconds) has {broken} device rows that don't add up; it was not published")]
    DoesNotAddUp {
        /// Start of the hour, Unix seconds.
        hour_s: u32,
        /// Rows that break a law.
        broken: u64,
    },
}

/// Attaches what was being done to what ClickHouse said.
trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for Result<T, clickhouse::error::Error> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Query { doing, source })
    }
}
