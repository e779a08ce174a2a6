-- Host memory that workloads on devices held, on nodes whose host memory has tiers: near is on NUMA nodes with processors,
-- far on those without (CXL expanders and their like). Reported, never priced.
--
-- Keyed and partitioned as usage_raw, for the same reasons.
CREATE TABLE IF NOT EXISTS host_memory_raw
(
    hour         DateTime('UTC') CODEC(Delta, T64, LZ4),
    cluster      LowCardinality(String),
    node         LowCardinality(String),
    incarnation  UInt128 CODEC(ZSTD(1)),
    sequence     UInt64 CODEC(Delta, T64, LZ4),
    row          UInt32 CODEC(Delta, T64, LZ4),
    batch_hash   UInt64 CODEC(ZSTD(1)),
    workload     UInt128 CODEC(ZSTD(1)),
    start_ms     Int64 CODEC(Delta, T64, LZ4),
    end_ms       Int64 CODEC(Delta, T64, LZ4),
    near_byte_ms UInt64 CODEC(T64, ZSTD(1)),
    far_byte_ms  UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(hour)
ORDER BY (hour, cluster, node, incarnation, sequence, row, batch_hash)
TTL hour + INTERVAL 13 MONTH DELETE
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0, ttl_only_drop_parts = 1
