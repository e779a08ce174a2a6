//! Imported runs: what is there already, and appending what is new as one import that counts whole or not at all.

use super::rows::OwnerRow;
use super::{Doing, Reader, StoreError, Writer};
use billing::import::plan::{KnownDevice, KnownRun};
use billing::import::{Run, RunKey, held};
use clickhouse::Row;
use schema::sql;
use schema::units::HOUR_MS;
use schema::window::Window;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Rows of one insert: the engine keeps inserts of fewer than a million whole, and memory small.
const ROWS_AT_ONCE: usize = 20_000;

#[derive(Row, Deserialize)]
struct RunFound {
    cluster_name: String,
    job: String,
    submit_ms: i64,
    start_ms: i64,
    part: String,
    end_ms: i64,
    content_hash: u64,
}

/// `imported_runs`.
#[derive(Row, Serialize, Deserialize)]
struct RunRow {
    cluster: String,
    job: String,
    submit_ms: i64,
    start_ms: i64,
    part: String,
    content_hash: u64,
    import: u128,
    end_ms: i64,
    device: String,
    pool: bool,
    node: String,
    model: String,
    profile: String,
    sharing: u8,
    gpus: u32,
    share_num: u32,
    share_den: u32,
    workload: u128,
    line: u64,
}

/// `imports`.
#[derive(Row, Serialize, Deserialize)]
struct ImportRow {
    import: u128,
    hours: Vec<u32>,
    format: String,
    source_name: String,
    runs: u64,
    held_nano: i64,
    imported_at_ms: i64,
}

/// Where runs come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// `allocations` or `sacct`.
    pub format: &'static str,
    /// The file's name.
    pub file: &'a str,
}

impl Reader {
    /// Runs of some clusters that are imported already and touch `window`.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn imported_runs(
        &self,
        clusters: &BTreeSet<String>,
        window: Window,
    ) -> Result<Vec<KnownRun>, StoreError> {
        let rows: Vec<RunFound> = self
            .query(sql::IMPORTED_RUNS)
            .param("clusters", clusters)
            .param("start_ms", window.start_ms)
            .param("end_ms", window.end_ms)
            .fetch_all()
            .await
            .doing("read what is imported already")?;
        let known = |row: RunFound| KnownRun {
            key: RunKey {
                cluster: row.cluster_name,
                job: row.job,
                submit_ms: row.submit_ms,
                start_ms: row.start_ms,
                part: row.part,
            },
            end_ms: row.end_ms,
            content_hash: row.content_hash,
        };
        Ok(rows.into_iter().map(known).collect())
    }

    /// Every device that was ever seen or is expected, with the time that collectors answer for.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn known_devices(&self) -> Result<Vec<KnownDevice>, StoreError> {
        let known = |listed: super::inventory::Listed| {
            let from_ms = [listed.first_seen_ms, listed.expected_ms].into_iter().flatten().min();
            let metered = listed.first_seen_ms.zip(listed.last_seen_ms);
            let from_ms = from_ms.unwrap_or(i64::MAX);
            KnownDevice {
                cluster: listed.cluster,
                node: listed.node,
                device: listed.device,
                metered: metered.map(|(from_ms, to_ms)| Window::new(from_ms, to_ms.max(from_ms))),
                in_service: Window::new(from_ms, listed.retired_ms.unwrap_or(i64::MAX).max(from_ms)),
            }
        };
        Ok(self.devices().await?.into_iter().map(known).collect())
    }
}

impl Writer {
    /// Appends new runs as one import. The row that makes them count comes last, so that a failure in between adds nothing, and
    /// the same import again merges with this one.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached; nothing counts then.
    pub async fn import(
        &self,
        runs: &[(u64, Run)],
        source: Source<'_>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let import = identity(runs);
        for chunk in runs.chunks(ROWS_AT_ONCE) {
            let owners: Vec<OwnerRow> = chunk.iter().map(|(_, run)| owner_row(run)).collect();
            let rows: Vec<RunRow> = chunk.iter().map(|(line, run)| run_row(run, *line, import)).collect();
            self.insert("owners", &owners).await?;
            self.insert("imported_runs", &rows).await?;
        }
        let row = ImportRow {
            import,
            hours: hours(runs),
            format: source.format.into(),
            source_name: source.file.into(),
            runs: runs.len() as u64,
            held_nano: held(runs.iter().map(|(_, run)| run)).0,
            imported_at_ms: now_ms,
        };
        self.insert("imports", &[row]).await
    }
}

/// First 128 bits of the SHA-256 of the runs' keys and contents, in the order of keys.
fn identity(runs: &[(u64, Run)]) -> u128 {
    let mut keys: Vec<(&RunKey, u64)> = runs.iter().map(|(_, run)| (&run.key, run.content_hash())).collect();
    keys.sort_unstable();
    let mut hash = Sha256::new();
    for (key, content_hash) in keys {
        for text in [&key.cluster, &key.job, &key.part] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(key.submit_ms.to_be_bytes());
        hash.update(key.start_ms.to_be_bytes());
        hash.update(content_hash.to_be_bytes());
    }
    u128::from_be_bytes(hash.finalize()[..16].try_into().expect("a digest has 32 bytes"))
}

/// Starts of the hours in which one of the runs held something, Unix seconds.
fn hours(runs: &[(u64, Run)]) -> Vec<u32> {
    let mut hours = BTreeSet::new();
    for (_, run) in runs {
        let mut start_ms = Window::hour_of(run.key.start_ms).start_ms;
        while start_ms < run.end_ms {
            hours.insert(super::rows::hour_s(start_ms));
            start_ms += HOUR_MS;
        }
    }
    hours.into_iter().collect()
}

fn run_row(run: &Run, line: u64, import: u128) -> RunRow {
    RunRow {
        cluster: run.key.cluster.clone(),
        job: run.key.job.clone(),
        submit_ms: run.key.submit_ms,
        start_ms: run.key.start_ms,
        part: run.key.part.clone(),
        content_hash: run.content_hash(),
        import,
        end_ms: run.end_ms,
        device: run.place(),
        pool: run.device.is_none(),
        node: run.node(),
        model: run.model.clone(),
        profile: run.profile.clone(),
        sharing: u8::try_from(run.sharing() as i32).expect("the wire's values are small"),
        gpus: run.gpus,
        share_num: run.share.num,
        share_den: run.share.den,
        workload: run.owner.workload().0,
        line,
    }
}

fn owner_row(run: &Run) -> OwnerRow {
    OwnerRow {
        workload: run.owner.workload().0,
        kind: u8::try_from(run.owner.kind as i32).expect("the wire's values are small"),
        attributes: run.owner.attributes.clone().into_iter().collect(),
        cluster: run.key.cluster.clone(),
        node: run.node(),
        evidence: run.owner.evidence.clone(),
    }
}
