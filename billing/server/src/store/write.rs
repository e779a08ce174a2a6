//! Appending what ingest accepted. An insert that returns is durable.

use super::rows::Rows;
use super::{Doing, StoreError};
use clickhouse::{Client, Row};
use serde::{Deserialize, Serialize};

/// Appends; can't read.
#[derive(Clone)]
pub struct Writer {
    pub(super) client: Client,
}

/// A version of a configuration file.
#[derive(Debug, Clone, Row, Serialize, Deserialize)]
pub struct ConfigRow {
    /// `slicemeter.toml`, `tenants.toml`, `prices.toml`.
    pub name: String,
    /// SHA-256 of the content, hexadecimal.
    pub hash: String,
    /// The content, secrets left out.
    pub content: String,
    /// When it was loaded, Unix milliseconds.
    pub loaded_at_ms: i64,
}

impl Writer {
    /// Appends one insert a table. The rows of `batches` come last: whoever sees a batch sees all of it.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached. Some tables may have been written then; sending everything again changes
    /// no total.
    pub async fn append(&self, rows: &Rows) -> Result<(), StoreError> {
        tokio::try_join!(
            self.insert("owners", &rows.owners),
            self.insert("devices", &rows.sightings),
            self.insert("dead_letters", &rows.dead_letters),
            self.insert("losses", &rows.losses),
            self.insert("gaps_raw", &rows.gaps),
            self.insert("host_memory_raw", &rows.host_memory),
            self.insert("xids_raw", &rows.xids),
            self.insert("device_raw", &rows.devices),
            self.insert("usage_raw", &rows.usage),
        )?;
        self.insert("batches", &rows.batches).await
    }

    /// Keeps a version of a configuration file.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn keep_config(&self, row: &ConfigRow) -> Result<(), StoreError> {
        self.insert("config_versions", std::slice::from_ref(row)).await
    }

    pub(super) async fn insert<T>(&self, table: &'static str, rows: &[T]) -> Result<(), StoreError>
    where
        T: Row + Serialize + for<'a> Row<Value<'a> = T>,
    {
        self.insert_each::<T, _>(table, rows.iter()).await
    }

    /// As [`Writer::insert`], of rows that are made as they are sent.
    pub(super) async fn insert_each<T, B>(
        &self,
        table: &'static str,
        rows: impl Iterator<Item = B>,
    ) -> Result<(), StoreError>
    where
        T: Row + Serialize + for<'a> Row<Value<'a> = T>,
        B: std::borrow::Borrow<T>,
    {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut insert = self.client.insert::<T>(table).await.doing("open an insert")?;
        for row in rows {
            insert.write(row.borrow()).await.doing("send rows")?;
        }
        insert.end().await.doing("store rows")
    }
}
