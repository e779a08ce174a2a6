-- Appends a local day's device ledger, between change instants, under a revision of the day.
--
-- Parameters: day_s (start of the day, Unix seconds), revision, start_ms, end_ms (the day), edges as in usage_totals.sql, and
-- hours and hour_revisions: the published revisions that the day is rated from, side by side.
INSERT INTO device_days
SELECT
    toDateTime({day_s:UInt32}, 'UTC') AS day,
    {revision:UInt64} AS day_revision,
    arrayLast(e -> e <= segment_start_ms, {edges:Array(Int64)}) AS from_ms,
    arrayFirst(e -> e > segment_start_ms, {edges:Array(Int64)}) AS to_ms,
    cluster, node, device, model,
    sum(capacity_nano), sum(held_nano), sum(free_nano), sum(stranded_nano), sum(unavailable_nano), sum(unobserved_nano),
    sum(busy_nano), sum(ghost_nano), sum(not_busy_nano), sum(unknown_nano),
    sum(device_hourly.energy_mj), sum(energy_unattributed_mj),
    max(oversubscribed), max(contested)
FROM device_hourly
WHERE (toUInt32(hour), revision) IN (SELECT arrayJoin(arrayZip({hours:Array(UInt32)}, {hour_revisions:Array(UInt64)})) AS pair)
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
GROUP BY from_ms, to_ms, cluster, node, device, model
