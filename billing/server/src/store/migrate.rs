//! Brings a database to this program's tables. Every migration is idempotent; what ran is kept with its checksum.

use super::{Doing, Store, StoreError};
use clickhouse::Row;
use schema::sql::MIGRATIONS;
use serde::{Deserialize, Serialize};

#[derive(Row, Serialize, Deserialize)]
struct Applied {
    number: u32,
    name: String,
    checksum: String,
    applied_at_ms: i64,
}

impl Store {
    /// Runs the migrations that this database lacks, and says how many that were. Safe to run by several at once.
    ///
    /// # Errors
    /// ClickHouse refuses one; the database is another version's.
    pub async fn migrate(&self, now_ms: i64) -> Result<usize, StoreError> {
        // The first migration makes the table that the rest are recorded in.
        self.client.query_raw(MIGRATIONS[0].sql).execute().await.doing("make the table of migrations")?;
        let applied: Vec<Applied> = self
            .client
            .query_raw(
                "SELECT number, name, checksum, applied_at_ms FROM schema_migrations FINAL ORDER BY number",
            )
            .fetch_all()
            .await
            .doing("read which migrations ran")?;
        if let Some(newer) = applied.iter().find(|a| a.number as usize > MIGRATIONS.len()) {
            return Err(StoreError::FromTheFuture(newer.number));
        }
        let mut ran = 0;
        for migration in MIGRATIONS {
            let checksum = migration.checksum();
            if let Some(done) = applied.iter().find(|a| a.number == migration.number) {
                if done.checksum != checksum {
                    return Err(StoreError::Migration {
                        number: migration.number,
                        found: done.checksum.clone(),
                        expected: checksum,
                    });
                }
                continue;
            }
            self.client.query_raw(migration.sql).execute().await.doing("run a migration")?;
            let row = Applied {
                number: migration.number,
                name: migration.name.into(),
                checksum,
                applied_at_ms: now_ms,
            };
            let mut insert =
                self.client.insert::<Applied>("schema_migrations").await.doing("record a migration")?;
            insert.write(&row).await.doing("record a migration")?;
            insert.end().await.doing("record a migration")?;
            ran += 1;
        }
        Ok(ran)
    }
}
