-- The held and busy ledgers of workloads, apportioned once at the hour close, in whole nano-GPU-hours.
--
-- Appended under a revision of its own and published by a row in hour_pointers; a partition is one revision of one hour,
-- so a superseded one goes by DROP PARTITION. Keyed by raw workload, never by tenant or price: a re-mapping re-rates and
-- does not re-close.
CREATE TABLE IF NOT EXISTS usage_hourly
(
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
    energy_mj        Int64 CODEC(T64, ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY (hour, revision)
ORDER BY (cluster, device, segment_start_ms, workload, gpu_instance, compute_instance)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
