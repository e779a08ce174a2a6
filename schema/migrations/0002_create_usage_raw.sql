-- What workloads held and used, exactly as collectors sent it: one row per workload, device (or MIG instance) and window.
--
-- A row's identity is where it was made: (cluster, node, incarnation, sequence, row), with the hash of its batch, so a
-- repeated delivery merges away and a conflicting one stays visible. The hour comes first in the key because the hour
-- close reads whole hours with FINAL; day partitions keep their number small. Ghost use (busy with no process to be
-- found) has workload 1. An unknown value is NULL, never 0. -1 stands for "not under MIG".
CREATE TABLE IF NOT EXISTS usage_raw
(
    hour             DateTime('UTC') CODEC(Delta, T64, LZ4),
    cluster          LowCardinality(String),
    node             LowCardinality(String),
    incarnation      UInt128 CODEC(ZSTD(1)),
    sequence         UInt64 CODEC(Delta, T64, LZ4),
    row              UInt32 CODEC(Delta, T64, LZ4),
    batch_hash       UInt64 CODEC(ZSTD(1)),
    device           LowCardinality(String),
    workload         UInt128 CODEC(ZSTD(1)),
    start_ms         Int64 CODEC(Delta, T64, LZ4),
    end_ms           Int64 CODEC(Delta, T64, LZ4),
    gpu_instance     Int32 CODEC(T64, ZSTD(1)),
    compute_instance Int32 CODEC(T64, ZSTD(1)),
    profile          LowCardinality(String),
    sharing          UInt8 CODEC(T64, ZSTD(1)),
    share_num        UInt32 CODEC(T64, ZSTD(1)),
    share_den        UInt32 CODEC(T64, ZSTD(1)),
    allocated_ms     Nullable(UInt64) CODEC(T64, ZSTD(1)),
    resident_ms      Nullable(UInt64) CODEC(T64, ZSTD(1)),
    busy_ms          Nullable(UInt64) CODEC(T64, ZSTD(1)),
    busy_kind        UInt8 CODEC(T64, ZSTD(1)),
    weight_num       UInt32 CODEC(T64, ZSTD(1)),
    weight_den       UInt32 CODEC(T64, ZSTD(1)),
    memory_byte_ms   Nullable(UInt64) CODEC(T64, ZSTD(1)),
    energy_mj        Nullable(UInt64) CODEC(T64, ZSTD(1)),
    held_quality     UInt8 CODEC(T64, ZSTD(1)),
    busy_quality     UInt8 CODEC(T64, ZSTD(1)),
    unknown_reason   UInt8 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(hour)
PRIMARY KEY (hour, cluster, node)
ORDER BY (hour, cluster, node, incarnation, sequence, row, batch_hash)
-- Slices are the evidence behind a line; 13 months outlast a year's dispute.
TTL hour + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1
