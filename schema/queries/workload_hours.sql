-- The rows of the usage ledger of some workloads, on every device, by the hour.
--
-- Parameters: start_ms, end_ms, workloads (decimal texts).
WITH
published AS
(
    SELECT hour, max(revision) AS revision
    FROM hour_pointers
    WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC') AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
    GROUP BY hour
)
SELECT
    segment_start_ms AS from_ms,
    segment_end_ms AS to_ms,
    toString(cluster) AS cluster_name,
    toString(node) AS node_name,
    toString(device) AS device_uuid,
    toString(model) AS model_name,
    workload,
    toString(profile) AS profile_name,
    sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched,
    natural_ms AS natural,
    held_nano AS held,
    busy_nano AS busy,
    greatest(held_nano, busy_nano) AS most,
    unknown_nano AS unknown,
    energy_mj AS energy,
    memory_byte_ms AS memory,
    segment_end_ms AS last_ms
FROM usage_hourly
WHERE (hour, revision) IN published
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
  AND workload IN (SELECT toUInt128(arrayJoin({workloads:Array(String)})))
ORDER BY from_ms, cluster, device, workload, gpu_instance, compute_instance, busy_kind, unwatched
