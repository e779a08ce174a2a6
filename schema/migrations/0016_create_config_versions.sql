-- The content of the configuration files at each load where it had changed, so that a statement can name what it used.
CREATE TABLE IF NOT EXISTS config_versions
(
    name         LowCardinality(String),
    hash         String,
    content      String CODEC(ZSTD(1)),
    loaded_at_ms Int64
)
ENGINE = MergeTree
ORDER BY (name, loaded_at_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
