-- What a scheduler's records say was held before anybody metered: one row per run and part of it, as `slicemeter import` read
-- it. A run's identity is (cluster, job, submit, start, part); the part is a device where one is named, or a GRES type where a
-- job had several, else empty.
--
-- A row counts once its import stands in `imports`, which is written last, so a half-written import counts nothing. The content
-- is part of the key: two imports that race with the same run merge when read, and of two contents the smaller hash counts.
-- Runs are kept without a limit of time: they are few beside slices, and nothing else remembers them.
CREATE TABLE IF NOT EXISTS imported_runs
(
    cluster      LowCardinality(String),
    job          String CODEC(ZSTD(1)),
    submit_ms    Int64 CODEC(Delta, T64, LZ4),
    start_ms     Int64 CODEC(Delta, T64, LZ4),
    part         String CODEC(ZSTD(1)),
    content_hash UInt64 CODEC(ZSTD(1)),
    import       UInt128 CODEC(ZSTD(1)),
    end_ms       Int64 CODEC(Delta, T64, LZ4),
    -- The device held, or where none is named the virtual pool of its cluster and model.
    device       LowCardinality(String),
    pool         Bool,
    -- The only or first node, where the record names one.
    node         LowCardinality(String),
    model        LowCardinality(String),
    profile      LowCardinality(String),
    sharing      UInt8 CODEC(T64, ZSTD(1)),
    gpus         UInt32 CODEC(T64, ZSTD(1)),
    -- Of each of them.
    share_num    UInt32 CODEC(T64, ZSTD(1)),
    share_den    UInt32 CODEC(T64, ZSTD(1)),
    workload     UInt128 CODEC(ZSTD(1)),
    -- Line of the file, or entry of the list.
    line         UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, job, submit_ms, start_ms, part, content_hash, import)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
