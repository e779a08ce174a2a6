-- What a revision of some hours adds up to, before it is published: one row per hour.
--
-- broken counts device rows whose parts don't sum to the capacity, or whose busy ledger doesn't sum to the observed time, or
-- that hold a negative part, or whose workloads' rows don't sum to the device's. A revision with any is never published.
WITH
usage AS
(
    SELECT hour, device, cluster, segment_start_ms, sum(held_nano) AS held, sum(busy_nano) AS busy, count() AS usage_rows,
        countIf(held_nano < 0 OR busy_nano < 0 OR unknown_nano < 0) AS negative
    FROM usage_hourly
    WHERE revision = {revision:UInt64} AND hour IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))
    GROUP BY hour, device, cluster, segment_start_ms
)
SELECT
    toUInt32(hour) AS hour_s,
    sum(capacity_nano) AS capacity,
    toUInt64(sum(usage_rows)) AS usage_row_count,
    count() AS device_row_count,
    countIf(contested) AS contested_count,
    countIf(
        held_nano + free_nano + stranded_nano + unavailable_nano + unobserved_nano != capacity_nano
        OR busy_nano + ghost_nano + not_busy_nano + unknown_nano != held_nano + free_nano + stranded_nano
        OR least(held_nano, free_nano, stranded_nano, unavailable_nano, unobserved_nano, busy_nano, ghost_nano, not_busy_nano, unknown_nano) < 0
        OR held != held_nano OR busy != busy_nano OR negative > 0) AS broken
FROM device_hourly
LEFT JOIN usage USING (hour, device, cluster, segment_start_ms)
WHERE revision = {revision:UInt64} AND hour IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))
GROUP BY hour
ORDER BY hour
