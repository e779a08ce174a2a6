-- The daily charges that a closed period's statements sum, copied once: what a line opens to by device and day stays what it was
-- when the period was closed. Columns as charges; partitions as usage_closed.
CREATE TABLE IF NOT EXISTS charges_closed
(
    period         LowCardinality(String),
    attempt        UInt64 CODEC(ZSTD(1)),
    day            DateTime('UTC') CODEC(Delta, LZ4),
    revision       UInt64 CODEC(Delta, LZ4),
    start_ms       Int64 CODEC(Delta, LZ4),
    end_ms         Int64 CODEC(Delta, LZ4),
    tenant         LowCardinality(String),
    line           LowCardinality(String),
    cluster        LowCardinality(String),
    node           LowCardinality(String),
    device         LowCardinality(String),
    model          LowCardinality(String),
    natural_ms     Int64 CODEC(T64, ZSTD(1)),
    observed_ms    Int64 CODEC(T64, ZSTD(1)),
    held_nano      Int64 CODEC(T64, ZSTD(1)),
    charged_nano   Int64 CODEC(T64, ZSTD(1)),
    busy_nano      Int64 CODEC(T64, ZSTD(1)),
    unknown_nano   Int64 CODEC(T64, ZSTD(1)),
    energy_mj      Int64 CODEC(T64, ZSTD(1)),
    memory_byte_ms UInt128 CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY (period, attempt)
ORDER BY (tenant, line, cluster, device, start_ms)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
