-- Sums of the device ledger over the days of a period, between change instants (edges as in usage_totals.sql); with a tenant,
-- only of devices that it held a part of.
WITH
rated AS
(
    SELECT day, max(revision) AS revision
    FROM rated_days
    WHERE rules = {rules:String} AND day >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC') AND day < fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY day
)
SELECT
    arrayLast(e -> e <= start_ms, {edges:Array(Int64)}) AS from_ms,
    arrayFirst(e -> e > start_ms, {edges:Array(Int64)}) AS to_ms,
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
    sum(device_days.energy_mj) AS energy,
    sum(energy_unattributed_mj) AS energy_unattributed,
    max(oversubscribed) AS any_oversubscribed,
    max(contested) AS any_contested
FROM device_days
WHERE (day, revision) IN rated
  AND ({tenant:String} = '' OR device IN (SELECT device FROM charges WHERE (day, revision) IN rated AND tenant = {tenant:String}))
GROUP BY from_ms, to_ms, cluster, node, device, model
ORDER BY from_ms, cluster, device, node, model
