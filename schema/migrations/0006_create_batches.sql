-- One row per stored batch, written after its rows: whoever sees the batch sees all of it.
--
-- It tells which hours have news (first_hour to last_hour), which identities came twice with other content (the hash is
-- part of the key, so both stay), and which sequences are still to come. Bare of TTL: the identities are small.
CREATE TABLE IF NOT EXISTS batches
(
    cluster           LowCardinality(String),
    node              LowCardinality(String),
    incarnation       UInt128 CODEC(ZSTD(1)),
    sequence          UInt64 CODEC(Delta, T64, LZ4),
    batch_hash        UInt64 CODEC(ZSTD(1)),
    first_hour        DateTime('UTC') CODEC(Delta, T64, LZ4),
    last_hour         DateTime('UTC') CODEC(Delta, T64, LZ4),
    usage_rows        UInt32 CODEC(T64, ZSTD(1)),
    device_rows       UInt32 CODEC(T64, ZSTD(1)),
    dead_letters      UInt32 CODEC(T64, ZSTD(1)),
    boot_id           LowCardinality(String),
    collector_version LowCardinality(String),
    created_at_ms     Int64 CODEC(Delta, T64, LZ4),
    received_at_ms    Int64 CODEC(Delta, T64, LZ4)
)
-- Version: the greatest receipt is kept, which can only make an hour dirty once more, never less.
ENGINE = ReplacingMergeTree(received_at_ms)
PARTITION BY toYYYYMM(first_hour)
ORDER BY (cluster, node, incarnation, sequence, batch_hash)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
