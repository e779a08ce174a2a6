-- What the operator says about devices, append-only: expected from an instant, or retired at one. The latest word of
-- each kind counts, so that a mistake is corrected by saying it again.
CREATE TABLE IF NOT EXISTS inventory
(
    cluster        LowCardinality(String),
    device         String,
    node           LowCardinality(String),
    model          LowCardinality(String),
    kind           Enum8('expect' = 1, 'retire' = 2),
    at_ms          Int64,
    recorded_at_ms Int64
)
ENGINE = MergeTree
ORDER BY (cluster, device, recorded_at_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
