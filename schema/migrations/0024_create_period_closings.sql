-- Which attempt closed a period, and its manifest: hashes of everything that went in and every statement that came out.
--
-- Two that close at once insert with one deduplication token for the period: the first insert counts, the second vanishes.
CREATE TABLE IF NOT EXISTS period_closings
(
    period       LowCardinality(String),
    attempt      UInt64,
    manifest_id  String,
    manifest     String CODEC(ZSTD(3)),
    author       String,
    closed_at_ms Int64
)
ENGINE = MergeTree
ORDER BY period
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 10000
