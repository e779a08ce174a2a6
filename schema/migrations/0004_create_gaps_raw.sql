-- Time that a collector says it did not observe, and why. An empty device means every device of the node.
--
-- A gap changes no quantity (silence is unobserved anyhow): it is the reason that a line or a proof shows for it.
CREATE TABLE IF NOT EXISTS gaps_raw
(
    hour        DateTime('UTC') CODEC(Delta, T64, LZ4),
    cluster     LowCardinality(String),
    node        LowCardinality(String),
    incarnation UInt128 CODEC(ZSTD(1)),
    sequence    UInt64 CODEC(Delta, T64, LZ4),
    row         UInt32 CODEC(Delta, T64, LZ4),
    batch_hash  UInt64 CODEC(ZSTD(1)),
    device      LowCardinality(String),
    start_ms    Int64 CODEC(Delta, T64, LZ4),
    end_ms      Int64 CODEC(Delta, T64, LZ4),
    reason      UInt8
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(hour)
ORDER BY (hour, cluster, node, incarnation, sequence, row, batch_hash)
TTL hour + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1
