-- As usage_totals.sql, over the hours that a period was closed from.
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
FROM usage_closed
WHERE period = {period:String} AND attempt = {attempt:UInt64}
GROUP BY from_ms, to_ms, cluster, node, device, model, workload, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched
ORDER BY from_ms, cluster, device, workload, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched, node, model
