-- How each device's time in service went on a local day: sums of device_hourly between change instants, under the revision of
-- the day's charges and published with them.
CREATE TABLE IF NOT EXISTS device_days
(
    day                    DateTime('UTC') CODEC(Delta, LZ4),
    revision               UInt64 CODEC(Delta, LZ4),
    start_ms               Int64 CODEC(Delta, LZ4),
    end_ms                 Int64 CODEC(Delta, LZ4),
    cluster                LowCardinality(String),
    node                   LowCardinality(String),
    device                 LowCardinality(String),
    model                  LowCardinality(String),
    capacity_nano          Int64 CODEC(T64, ZSTD(1)),
    held_nano              Int64 CODEC(T64, ZSTD(1)),
    free_nano              Int64 CODEC(T64, ZSTD(1)),
    stranded_nano          Int64 CODEC(T64, ZSTD(1)),
    unavailable_nano       Int64 CODEC(T64, ZSTD(1)),
    unobserved_nano        Int64 CODEC(T64, ZSTD(1)),
    busy_nano              Int64 CODEC(T64, ZSTD(1)),
    ghost_nano             Int64 CODEC(T64, ZSTD(1)),
    not_busy_nano          Int64 CODEC(T64, ZSTD(1)),
    unknown_nano           Int64 CODEC(T64, ZSTD(1)),
    energy_mj              Nullable(Int64) CODEC(T64, ZSTD(1)),
    energy_unattributed_mj Int64 CODEC(T64, ZSTD(1)),
    oversubscribed         Bool,
    contested              Bool
)
ENGINE = MergeTree
PARTITION BY (day, revision)
ORDER BY (cluster, device, start_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
