-- Who workloads are: raw identity as nodes saw it, and what was read to know it. Tenants are resolved at rating.
--
-- The workload id is a hash of kind and attributes, so rows of one workload differ in evidence only.
CREATE TABLE IF NOT EXISTS owners
(
    workload   UInt128,
    kind       UInt8,
    attributes Map(String, String),
    cluster    LowCardinality(String),
    node       LowCardinality(String),
    evidence   String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (workload, cluster, node, evidence)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
