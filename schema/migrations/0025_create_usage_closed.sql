-- The hourly usage that a period was closed from, copied once: later revisions of its hours change nothing here.
--
-- Columns as usage_hourly; a partition is one attempt to close one period, so that years of closed hours are few partitions.
CREATE TABLE IF NOT EXISTS usage_closed
(
    period LowCardinality(String),
    attempt UInt64 CODEC(ZSTD(1)),
    hour             DateTime('UTC') CODEC(Delta, T64, LZ4),
    revision         UInt64 CODEC(Delta, T64, LZ4),
    segment_start_ms Int64 CODEC(Delta, T64, LZ4),
    segment_end_ms   Int64 CODEC(Delta, T64, LZ4),
    cluster          LowCardinality(String),
    node             LowCardinality(String),
    device           LowCardinality(String),
    model            LowCardinality(String),
    workload         UInt128 CODEC(ZSTD(1)),
    gpu_instance     Int32 CODEC(T64, ZSTD(1)),
    compute_instance Int32 CODEC(T64, ZSTD(1)),
    profile          LowCardinality(String),
    sharing          UInt8 CODEC(T64, ZSTD(1)),
    share_num        UInt32 CODEC(T64, ZSTD(1)),
    share_den        UInt32 CODEC(T64, ZSTD(1)),
    quality          UInt8 CODEC(T64, ZSTD(1)),
    busy_kind        UInt8 CODEC(T64, ZSTD(1)),
    busy_quality     UInt8 CODEC(T64, ZSTD(1)),
    natural_ms       Int64 CODEC(T64, ZSTD(1)),
    held_nano        Int64 CODEC(T64, ZSTD(1)),
    busy_nano        Int64 CODEC(T64, ZSTD(1)),
    unknown_nano     Int64 CODEC(T64, ZSTD(1)),
    memory_byte_ms   UInt128 CODEC(ZSTD(1)),
    energy_mj        Int64 CODEC(T64, ZSTD(1)),
    unwatched        Bool DEFAULT false CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY (period, attempt)
ORDER BY (hour, cluster, device, segment_start_ms, workload, gpu_instance, compute_instance)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
