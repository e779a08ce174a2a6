-- For how many months each table of raw rows keeps them, as its own definition says; a number that was bound to it is
-- shown as a cast.
SELECT
    name AS table,
    toUInt16OrZero(extract(engine_full, 'TTL .*toIntervalMonth\\((?:_CAST\\()?([0-9]+)')) AS months
FROM system.tables
WHERE database = currentDatabase() AND name IN {tables:Array(String)}
ORDER BY name
