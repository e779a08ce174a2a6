-- Errors that drivers reported of devices, as collectors read them: which of them end what runs there is decided by whoever asks.
--
-- A window's row carries them, so identity is the window's and the XID's own. They are kept as long as slices.
CREATE TABLE IF NOT EXISTS xids_raw
(
    hour        DateTime('UTC') CODEC(Delta, T64, LZ4),
    cluster     LowCardinality(String),
    node        LowCardinality(String),
    incarnation UInt128 CODEC(ZSTD(1)),
    sequence    UInt64 CODEC(Delta, T64, LZ4),
    row         UInt32 CODEC(Delta, T64, LZ4),
    batch_hash  UInt64 CODEC(ZSTD(1)),
    device      LowCardinality(String),
    at_ms       Int64 CODEC(Delta, T64, LZ4),
    number      UInt32 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (hour, cluster, node, incarnation, sequence, row, batch_hash, at_ms, number)
TTL hour + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1
