//! How long raw rows are kept: each table's own definition says so, and is changed where the configuration differs.

use super::{Doing, Store, StoreError};
use clickhouse::Row;
use schema::sql;
use serde::Deserialize;

/// Refused rows, which age from their receipt.
const DEAD_LETTERS: &str = "dead_letters";

/// Every table of raw rows that expire. `batches` and `owners` are small and don't.
const TABLES: [&str; 6] =
    [DEAD_LETTERS, "device_raw", "gaps_raw", "host_memory_raw", "usage_raw", "xids_raw"];

#[derive(Row, Deserialize)]
struct Kept {
    table: String,
    months: u16,
}

impl Store {
    /// Has raw rows kept for so many months, and says how many tables kept them for another time. Parts that are there get
    /// their new end in the background; no row is rewritten.
    ///
    /// # Errors
    /// ClickHouse refuses, or can't be reached.
    pub async fn retain(&self, months: u16) -> Result<usize, StoreError> {
        let kept: Vec<Kept> = self
            .client
            .query_raw(sql::RETENTION)
            .param("tables", TABLES.as_slice())
            .fetch_all()
            .await
            .doing("read how long raw rows are kept")?;
        let mut altered = 0;
        for table in kept.iter().filter(|kept| kept.months != months).map(|kept| kept.table.as_str()) {
            const DOING: &str = "change how long raw rows are kept";
            self.client.query_raw(sql::RETAIN_CHEAPLY).param("table", table).execute().await.doing(DOING)?;
            let query = match table {
                DEAD_LETTERS => self.client.query_raw(sql::RETAIN_DEAD_LETTERS),
                _ => self.client.query_raw(sql::RETAIN_RAW).param("table", table),
            };
            let query = query.param("months", months).with_setting("materialize_ttl_after_modify", "1");
            query.execute().await.doing(DOING)?;
            altered += 1;
        }
        Ok(altered)
    }
}
