-- Partitions of the hourly tables that no reader can see any more: older revisions of hours whose newer one was published
-- long enough ago for every query that could still read the older to have ended.
--
-- A partition that was never published (its close failed) goes by the same rule once its hour has a newer revision.
WITH published AS
(
    SELECT toUInt32(hour) AS hour_s, max(revision) AS seen, max(published_at_ms) AS at_ms FROM hour_pointers GROUP BY hour_s
)
SELECT DISTINCT table, partition_id
FROM system.parts
INNER JOIN published ON toUInt32(splitByChar('-', partition_id)[1]) = published.hour_s
WHERE database = currentDatabase()
  AND table IN ('usage_hourly', 'device_hourly')
  AND active
  AND toUInt64OrZero(splitByChar('-', partition_id)[2]) < published.seen
  AND published.at_ms < {before_ms:Int64}
