-- How many hours of a window are published, with the first and last of them (Unix seconds) and the newest publication.
SELECT
    uniqExact(hour) AS hours,
    toUInt32(min(hour)) AS first_hour_s,
    toUInt32(max(hour)) AS last_hour_s,
    max(published_at_ms) AS newest_ms,
    max(revision) AS newest_revision,
    sum(contested_count) AS contested
FROM (SELECT hour, max(revision) AS revision, max(hour_pointers.published_at_ms) AS published_at_ms, argMax(hour_pointers.contested, hour_pointers.revision) AS contested_count FROM hour_pointers GROUP BY hour)
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC')
  AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
