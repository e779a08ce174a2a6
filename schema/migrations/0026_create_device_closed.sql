-- The hourly device ledger that a period was closed from, copied once. Columns as device_hourly; partitions as usage_closed.
CREATE TABLE IF NOT EXISTS device_closed
(
    period LowCardinality(String),
    attempt UInt64 CODEC(ZSTD(1)),
    hour                        DateTime('UTC') CODEC(Delta, T64, LZ4),
    revision                    UInt64 CODEC(Delta, T64, LZ4),
    segment_start_ms            Int64 CODEC(Delta, T64, LZ4),
    segment_end_ms              Int64 CODEC(Delta, T64, LZ4),
    cluster                     LowCardinality(String),
    node                        LowCardinality(String),
    device                      LowCardinality(String),
    model                       LowCardinality(String),
    capacity_nano               Int64 CODEC(T64, ZSTD(1)),
    held_nano                   Int64 CODEC(T64, ZSTD(1)),
    free_nano                   Int64 CODEC(T64, ZSTD(1)),
    stranded_nano               Int64 CODEC(T64, ZSTD(1)),
    unavailable_nano            Int64 CODEC(T64, ZSTD(1)),
    unobserved_nano             Int64 CODEC(T64, ZSTD(1)),
    busy_nano                   Int64 CODEC(T64, ZSTD(1)),
    ghost_nano                  Int64 CODEC(T64, ZSTD(1)),
    not_busy_nano               Int64 CODEC(T64, ZSTD(1)),
    unknown_nano                Int64 CODEC(T64, ZSTD(1)),
    energy_mj                   Nullable(Int64) CODEC(T64, ZSTD(1)),
    energy_unattributed_mj      Int64 CODEC(T64, ZSTD(1)),
    memory_byte_ms              Nullable(UInt128) CODEC(ZSTD(1)),
    memory_unattributed_byte_ms Int128 CODEC(ZSTD(1)),
    oversubscribed              Bool,
    contested                   Bool
)
ENGINE = MergeTree
PARTITION BY (period, attempt)
ORDER BY (hour, cluster, device, segment_start_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
