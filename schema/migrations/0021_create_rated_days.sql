-- One row publishes a day's charges and devices at once; of a day and a set of rules, the greatest revision counts.
--
-- `rules` stands for everything that rating looked at besides usage (price book, tenants and mapping, billing zone, method):
-- statements under other rules, such as a price book on trial, never see each other's rows. The fingerprint is of the hours'
-- revisions: a day whose hours have others now is rated again.
CREATE TABLE IF NOT EXISTS rated_days
(
    rules       LowCardinality(String),
    day         DateTime('UTC'),
    revision    UInt64,
    fingerprint UInt64,
    rated_at_ms Int64,
    held_nano   Int64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (rules, day)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
