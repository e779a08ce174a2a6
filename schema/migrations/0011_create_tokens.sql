-- Tokens that people and joining nodes carry: the SHA-256 of each, never the token. The latest row of a token counts.
CREATE TABLE IF NOT EXISTS tokens
(
    token_hash    String,
    name          String,
    -- join: may enrol nodes; operator: may read everything; tenant: may read its own statements.
    role          Enum8('join' = 1, 'operator' = 2, 'tenant' = 3),
    tenant        String,
    backfill      Bool,
    expires_at_ms Int64,
    revoked       Bool,
    changed_at_ms Int64
)
ENGINE = ReplacingMergeTree(changed_at_ms)
ORDER BY token_hash
SETTINGS
    -- An acknowledged insert survives power loss, and a merge does not replace synced parts with unsynced ones.
    fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480, non_replicated_deduplication_window = 0
