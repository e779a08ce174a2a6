-- Imports that are whole: one row each, written after its runs. Whoever sees an import sees all of it.
--
-- The hours are those in which one of its runs held something: they have news. The identity is a hash of the runs' keys and
-- contents, so the same import written twice is one.
CREATE TABLE IF NOT EXISTS imports
(
    import         UInt128 CODEC(ZSTD(1)),
    -- Starts of hours, Unix seconds, ascending.
    hours          Array(UInt32) CODEC(ZSTD(1)),
    -- allocations or sacct, and the name of the file
    format         LowCardinality(String),
    source_name    String,
    runs           UInt64,
    held_nano      Int64,
    imported_at_ms Int64
)
ENGINE = ReplacingMergeTree(imported_at_ms)
ORDER BY import
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
