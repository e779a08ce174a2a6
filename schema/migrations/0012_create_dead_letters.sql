-- Rows that were refused, with the reason and what was sent, keyed by identity so that a repeated delivery adds nothing.
CREATE TABLE IF NOT EXISTS dead_letters
(
    received_at_ms Int64 CODEC(Delta, T64, LZ4),
    cluster        LowCardinality(String),
    node           LowCardinality(String),
    incarnation    UInt128,
    sequence       UInt64,
    -- usage, device, gap, loss, or batch where nothing of it could be read.
    kind           LowCardinality(String),
    row            UInt32,
    batch_hash     UInt64,
    reason         LowCardinality(String),
    content        String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_ms)
PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(received_at_ms, 'UTC'))
ORDER BY (cluster, node, incarnation, sequence, kind, row, batch_hash)
TTL toDateTime(fromUnixTimestamp64Milli(received_at_ms, 'UTC')) + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
