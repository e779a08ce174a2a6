-- What is posted to an open period besides usage: adjustments, credits, taxes, reconciliations and corrections of closed periods.
--
-- A posting is known by its id: written twice it is one. Its rows and what they correct are in the content, JSON.
CREATE TABLE IF NOT EXISTS postings
(
    period      LowCardinality(String),
    posting_id  String,
    kind        LowCardinality(String),
    author      String,
    reason      String,
    content     String CODEC(ZSTD(1)),
    posted_at_ms Int64
)
ENGINE = ReplacingMergeTree
ORDER BY (period, posting_id)
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
