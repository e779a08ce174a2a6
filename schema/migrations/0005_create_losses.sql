-- Sequences that a collector declared as never to come, so that a hole stops being awaited and counts as unobserved.
CREATE TABLE IF NOT EXISTS losses
(
    cluster        LowCardinality(String),
    node           LowCardinality(String),
    incarnation    UInt128,
    first_sequence UInt64,
    last_sequence  UInt64,
    reason         LowCardinality(String),
    received_at_ms Int64
)
ENGINE = ReplacingMergeTree(received_at_ms)
ORDER BY (cluster, node, incarnation, first_sequence, last_sequence)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
