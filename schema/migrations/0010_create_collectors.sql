-- Credentials of nodes: the SHA-256 of each, never the credential. The latest row of a credential counts.
CREATE TABLE IF NOT EXISTS collectors
(
    credential_hash String,
    cluster         LowCardinality(String),
    node            LowCardinality(String),
    -- May write hours older than the age limit (imports, a backfilled month).
    backfill        Bool,
    revoked         Bool,
    changed_at_ms   Int64
)
ENGINE = ReplacingMergeTree(changed_at_ms)
ORDER BY credential_hash
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
