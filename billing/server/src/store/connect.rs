//! Opening a store: where it is, which settings hold on every query, and the check that they do.

use super::{Doing, Store, StoreError};
use clickhouse::{Client, Row};
use schema::sql;
use serde::Deserialize;

/// Where ClickHouse answers, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// HTTP interface, `http://host:8123`.
    pub url: String,
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Database; made if it doesn't exist.
    pub database: String,
}

/// The password is a secret.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({} as {}, database {}, password REDACTED)", self.url, self.user, self.database)
    }
}

/// Every setting that the ledger relies on, on every query. Defaults changed between versions of ClickHouse.
const SETTINGS: &[(&str, &str)] = &[
    // An insert is answered when it is stored, not when it is queued.
    ("async_insert", "0"),
    // Repeats merge away by row identity. Deduplication by block is for a window only, and it drops rows it takes for repeats.
    ("insert_deduplicate", "0"),
    // A chunk of closed hours is a partition an hour; a backfilled delivery may touch some days.
    ("max_partitions_per_insert_block", "200"),
    // Missing rows of an outer join read as zeros and empty strings: the SQL is written for that.
    ("join_use_nulls", "0"),
    // One read of FINAL sees all partitions of a key; a key never spans days, but a proof of that is not needed this way.
    ("do_not_merge_across_partitions_select_final", "0"),
    // Whole numbers only: an aggregate over no rows is 0, not NULL.
    ("aggregate_functions_null_for_empty", "0"),
    // A UNION without a word is an error, not a guess.
    ("union_default_mode", ""),
];

#[derive(Row, Deserialize)]
struct Setting {
    name: String,
    value: String,
}

/// Opens the store: makes the database if need be, states the settings and reads them back.
///
/// # Errors
/// ClickHouse can't be reached or refuses; a setting doesn't take.
pub async fn connect(address: &Address) -> Result<Store, StoreError> {
    let mut client =
        Client::default().with_url(&address.url).with_user(&address.user).with_password(&address.password);
    for (name, value) in SETTINGS {
        if !value.is_empty() {
            client = client.with_setting(*name, *value);
        }
    }
    client
        .query_raw("CREATE DATABASE IF NOT EXISTS {database:Identifier}")
        .param("database", &address.database)
        .execute()
        .await
        .doing("open the database")?;
    let client = client.with_database(&address.database);
    check(&client).await?;
    Ok(Store { client })
}

async fn check(client: &Client) -> Result<(), StoreError> {
    let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    let found: Vec<Setting> = client
        .query_raw(sql::SETTINGS)
        .param("names", &names)
        .fetch_all()
        .await
        .doing("read the settings")?;
    for (name, want) in SETTINGS {
        let got = found.iter().find(|s| s.name == *name).map_or("missing", |s| s.value.as_str());
        if got != *want {
            return Err(StoreError::Setting { name: (*name).into(), want, got: got.into() });
        }
    }
    Ok(())
}
