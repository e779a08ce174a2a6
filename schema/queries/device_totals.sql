-- Sums of the device ledger over a window, between change instants. Parameters as in usage_totals.sql.
WITH
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
    sum(capacity_nano) AS capacity,
    sum(held_nano) AS held,
    sum(free_nano) AS free,
    sum(stranded_nano) AS stranded,
    sum(unavailable_nano) AS unavailable,
    sum(unobserved_nano) AS unobserved,
    sum(busy_nano) AS busy,
    sum(ghost_nano) AS ghost,
    sum(not_busy_nano) AS not_busy,
    sum(unknown_nano) AS unknown,
    sum(device_hourly.energy_mj) AS energy,
    sum(energy_unattributed_mj) AS energy_unattributed,
    max(oversubscribed) AS any_oversubscribed,
    max(contested) AS any_contested
FROM device_hourly
WHERE (hour, revision) IN published
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
GROUP BY from_ms, to_ms, cluster, node, device, model
ORDER BY from_ms, cluster, device, node, model
