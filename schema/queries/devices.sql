-- Every device with when it was seen and what the operator said about it. 0 stands for never.
WITH
sightings AS
(
    SELECT cluster, device, max(model) AS seen_model,
        argMax(toString(node), last_seen_ms) AS seen_node,
        max(device_index) AS shown_index,
        max(memory_total_bytes) AS seen_memory_bytes,
        max(mig_slices) AS seen_slices,
        min(first_seen_ms) AS seen_from_ms,
        max(last_seen_ms) AS seen_to_ms
    FROM devices FINAL
    GROUP BY cluster, device
),
statements AS
(
    SELECT cluster, device,
        argMaxIf(at_ms, recorded_at_ms, kind = 'expect') AS expected_ms,
        argMaxIf(toString(node), recorded_at_ms, kind = 'expect') AS expected_node,
        argMaxIf(toString(model), recorded_at_ms, kind = 'expect') AS expected_model,
        argMaxIf(at_ms, recorded_at_ms, kind = 'retire') AS retired_ms
    FROM inventory
    GROUP BY cluster, device
)
SELECT
    toString(cluster) AS cluster_name,
    device AS device_uuid,
    if(seen_node != '', seen_node, expected_node) AS node_name,
    if(seen_model != '', seen_model, expected_model) AS model_name,
    shown_index AS display_index,
    ifNull(seen_memory_bytes, 0) AS memory_bytes,
    ifNull(seen_slices, 0) AS slices,
    seen_from_ms, seen_to_ms, expected_ms, retired_ms
FROM sightings FULL OUTER JOIN statements USING (cluster, device)
ORDER BY cluster_name, node_name, display_index, device_uuid
