-- The statements of closed periods as they were posted, a document each (JSON): a tenant's, the platform's, and the fleet.
--
-- Written under an attempt; the attempt that period_closings names is the one that counts.
CREATE TABLE IF NOT EXISTS closed_statements
(
    period  LowCardinality(String),
    attempt UInt64,
    owner   LowCardinality(String),
    content String CODEC(ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY (period, attempt)
ORDER BY owner
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
