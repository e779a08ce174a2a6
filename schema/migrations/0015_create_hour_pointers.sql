-- One row publishes both hourly tables of an hour at once; the greatest revision of an hour is the one that readers see.
--
-- The fingerprint is of everything that went in (batches, inventory, cuts): an hour whose fingerprint would now be another
-- is dirty and is closed again.
CREATE TABLE IF NOT EXISTS hour_pointers
(
    hour            DateTime('UTC'),
    revision        UInt64,
    fingerprint     UInt64,
    published_at_ms Int64,
    capacity_nano   Int64,
    usage_rows      UInt64,
    device_rows     UInt64,
    contested       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY hour
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
