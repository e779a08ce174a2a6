//! Versions of the configuration files, and the span of what is published.

use super::{Doing, Reader, Store, StoreError, write::ConfigRow};
use crate::config::Loaded;
use billing::statement::Version;
use clickhouse::Row;
use schema::sql;
use schema::window::Window;
use serde::Deserialize;

/// The first and last published hours of all, Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Span {
    /// Start of the first; 0 where nothing is published.
    pub first_hour_s: u32,
    /// Start of the last; 0 where nothing is published.
    pub last_hour_s: u32,
}

impl Store {
    /// Keeps the configuration's files as new versions where they differ from the last one loaded.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn keep_versions(&self, config: &Loaded, now_ms: i64) -> Result<(), StoreError> {
        for text in &config.texts {
            let hash = billing::place::hash_of(&text.content);
            let last: Vec<String> = self
                .client
                .query_raw(
                    "SELECT argMax(hash, loaded_at_ms) FROM config_versions WHERE name = {name:String}",
                )
                .param("name", text.name)
                .fetch_all()
                .await
                .doing("read the last configuration")?;
            if last.first() != Some(&hash) {
                let row = ConfigRow {
                    name: text.name.into(),
                    hash,
                    content: text.content.clone(),
                    loaded_at_ms: now_ms,
                };
                self.writer().keep_config(&row).await?;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// The number of a version that was loaded.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn version(&self, file: &str, hash: &str) -> Result<Version, StoreError> {
        let number: u64 = self
            .query(sql::CONFIG_NUMBER)
            .param("name", file)
            .param("hash", hash)
            .fetch_one()
            .await
            .doing("read the version of a configuration file")?;
        Ok(Version { number: u32::try_from(number).unwrap_or(u32::MAX), hash: hash.into() })
    }

    /// The time up to now of which usage may be in the ledger; empty where none is.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn metered(&self, now_ms: i64) -> Result<Window, StoreError> {
        let first_ms = match self.span().await?.first_hour_s {
            0 => now_ms,
            first_hour_s => i64::from(first_hour_s) * 1000,
        };
        Ok(Window::new(first_ms.min(now_ms), now_ms))
    }

    /// The content of the version of a file that was loaded last.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn last_content(&self, file: &str) -> Result<Option<String>, StoreError> {
        let last: Vec<String> = self
            .query(sql::CONFIG_LAST)
            .param("name", file)
            .fetch_all()
            .await
            .doing("read the last configuration")?;
        Ok(last.into_iter().next())
    }

    /// What is published, from when to when.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn span(&self) -> Result<Span, StoreError> {
        self.query(sql::MONTHS).fetch_one().await.doing("read what is published")
    }
}
