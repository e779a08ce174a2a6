-- Sums of the usage ledger over a window, between change instants, per everything that rating may look at.
--
-- Parameters: start_ms, end_ms (the window), edges (ascending change instants with start_ms first and end_ms last: no price or
-- mapping changes between two of them), workload and device ('' or 0 for all).
WITH
-- The one revision of each hour that is published.
published AS
(
    SELECT hour, max(revision) AS revision
    FROM hour_pointers
    WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC') AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
    GROUP BY hour
)
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
WHERE (hour, revision) IN published
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
GROUP BY from_ms, to_ms, cluster, node, device, model, workload, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched
ORDER BY from_ms, cluster, device, workload, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched, node, model
