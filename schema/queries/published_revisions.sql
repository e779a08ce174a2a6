-- The published revision of each hour of a window (whole hours that touch it), in order; the hour in Unix seconds.
SELECT toUInt32(hour) AS hour_s, max(revision) AS hour_revision
FROM hour_pointers
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC') AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
GROUP BY hour
ORDER BY hour
