-- What each device did as a whole in one window: the measure that rows of usage must add up to.
--
-- Keyed and partitioned as usage_raw, for the same reasons. A gap in these windows is unobserved time; nothing is carried
-- over it.
CREATE TABLE IF NOT EXISTS device_raw
(
    hour            DateTime('UTC') CODEC(Delta, T64, LZ4),
    cluster         LowCardinality(String),
    node            LowCardinality(String),
    incarnation     UInt128 CODEC(ZSTD(1)),
    sequence        UInt64 CODEC(Delta, T64, LZ4),
    row             UInt32 CODEC(Delta, T64, LZ4),
    batch_hash      UInt64 CODEC(ZSTD(1)),
    device          LowCardinality(String),
    start_ms        Int64 CODEC(Delta, T64, LZ4),
    end_ms          Int64 CODEC(Delta, T64, LZ4),
    observed_ms     UInt64 CODEC(T64, ZSTD(1)),
    unavailable_ms  UInt64 CODEC(T64, ZSTD(1)),
    reason          UInt8 CODEC(T64, ZSTD(1)),
    mig             Bool,
    -- (GPU instance, compute instance, MIG UUID, profile, compute slices)
    instances       Array(Tuple(UInt32, UInt32, String, String, UInt32)) CODEC(ZSTD(1)),
    stranded_num    UInt32 CODEC(T64, ZSTD(1)),
    stranded_den    UInt32 CODEC(T64, ZSTD(1)),
    busy_ms         Nullable(UInt64) CODEC(T64, ZSTD(1)),
    busy_kind       UInt8 CODEC(T64, ZSTD(1)),
    energy_mj       Nullable(UInt64) CODEC(T64, ZSTD(1)),
    energy_reset    Bool,
    memory_byte_ms  Nullable(UInt64) CODEC(T64, ZSTD(1)),
    oversubscribed  Bool,
    free_unknown_ms UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(hour)
PRIMARY KEY (hour, cluster, node)
ORDER BY (hour, cluster, node, incarnation, sequence, row, batch_hash)
TTL hour + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1
