-- Sums of charges over the days of a period by tenant, line and device, between edges (ascending, the period's ends among them);
-- '' for every tenant.
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
    toString(tenant) AS tenant_id,
    toString(line) AS line_key,
    toString(cluster) AS cluster_name,
    toString(node) AS node_name,
    toString(device) AS device_uuid,
    toString(model) AS model_name,
    sum(natural_ms) AS natural,
    sum(observed_ms) AS observed,
    sum(held_nano) AS held,
    sum(charged_nano) AS charged,
    sum(busy_nano) AS busy,
    sum(unknown_nano) AS unknown,
    sum(energy_mj) AS energy,
    sum(memory_byte_ms) AS memory
FROM charges
WHERE (day, revision) IN rated AND ({tenant:String} = '' OR tenant = {tenant:String})
GROUP BY from_ms, to_ms, tenant, line, cluster, node, device, model
ORDER BY from_ms, cluster, device, tenant, line
