-- A tenant's charges of a closed period, by line, device and day.
SELECT
    start_ms AS from_ms,
    end_ms AS to_ms,
    toString(tenant) AS tenant_id,
    toString(line) AS line_key,
    toString(cluster) AS cluster_name,
    toString(node) AS node_name,
    toString(device) AS device_uuid,
    toString(model) AS model_name,
    natural_ms AS natural,
    observed_ms AS observed,
    held_nano AS held,
    charged_nano AS charged,
    busy_nano AS busy,
    unknown_nano AS unknown,
    energy_mj AS energy,
    memory_byte_ms AS memory
FROM charges_closed
WHERE period = {period:String} AND attempt = {attempt:UInt64} AND tenant = {tenant:String}
ORDER BY from_ms, cluster, device, line
