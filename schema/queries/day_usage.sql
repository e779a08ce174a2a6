-- A local day's usage ledger, between change instants, per everything that rating may look at, by workload.
--
-- Parameters: start_ms, end_ms (the day), edges (ascending change instants with start_ms first and end_ms last: no price or
-- mapping changes between two of them), hours and hour_revisions: the published revisions that are read, side by side.
SELECT
    arrayLast(e -> e <= segment_start_ms, {edges:Array(Int64)}) AS from_ms,
    arrayFirst(e -> e > segment_start_ms, {edges:Array(Int64)}) AS to_ms,
    toString(cluster) AS cluster_name,
    toString(node) AS node_name,
    toString(device) AS device_uuid,
    toString(model) AS model_name,
    workload,
    toString(profile) AS profile_name,
    sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched,
    sum(natural_ms) AS natural,
    sum(held_nano) AS held,
    sum(busy_nano) AS busy,
    sum(greatest(held_nano, busy_nano)) AS most,
    sum(unknown_nano) AS unknown,
    sum(energy_mj) AS energy,
    sum(memory_byte_ms) AS memory,
    max(segment_end_ms) AS last_ms
FROM usage_hourly
WHERE (toUInt32(hour), revision) IN (SELECT arrayJoin(arrayZip({hours:Array(UInt32)}, {hour_revisions:Array(UInt64)})) AS pair)
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
GROUP BY from_ms, to_ms, cluster, node, device, model, workload, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched
ORDER BY workload
