-- How each device's time in service went, apportioned once at the hour close, in whole nano-GPU-hours.
--
-- held + free + stranded + unavailable + unobserved = capacity, and busy + ghost + not busy + unknown = held + free +
-- stranded, exactly; a revision for which that fails is never published. Partitioned as usage_hourly.
CREATE TABLE IF NOT EXISTS device_hourly
(
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
PARTITION BY (hour, revision)
ORDER BY (cluster, device, segment_start_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
