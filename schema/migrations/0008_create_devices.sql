-- Devices as collectors saw them: one row per device and node, with first and last sight.
--
-- A device is in service from its first sight (or the instant it was expected from, see inventory) until it is retired.
CREATE TABLE IF NOT EXISTS devices
(
    cluster            LowCardinality(String),
    device             String,
    node               LowCardinality(String),
    model              SimpleAggregateFunction(max, String),
    device_index       SimpleAggregateFunction(max, UInt32),
    pci_bus_id         SimpleAggregateFunction(max, String),
    memory_total_bytes SimpleAggregateFunction(max, Nullable(UInt64)),
    mig_slices         SimpleAggregateFunction(max, Nullable(UInt32)),
    driver_version     SimpleAggregateFunction(max, String),
    first_seen_ms      SimpleAggregateFunction(min, Int64),
    last_seen_ms       SimpleAggregateFunction(max, Int64)
)
ENGINE = AggregatingMergeTree
ORDER BY (cluster, device, node)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
