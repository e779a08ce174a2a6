-- Which migrations this database has seen, with the checksum of each, so that a landed file that was edited is noticed.
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number        UInt32,
    name          String,
    checksum      String,
    applied_at_ms Int64
)
ENGINE = ReplacingMergeTree(applied_at_ms)
ORDER BY number
