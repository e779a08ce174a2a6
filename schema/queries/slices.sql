-- The raw slices of some workloads on some devices in a window, in time order: what a line of a statement opens down to.
-- Of a batch that came with two contents only the one that counts is shown.
--
-- Parameters: start_ms, end_ms, workloads (decimal texts), devices, limit.
WITH
losing_batches AS
(
    SELECT cluster, node, incarnation, sequence, arrayJoin(arraySlice(arraySort(groupUniqArray(batch_hash)), 2)) AS losing_hash
    FROM batches
    GROUP BY cluster, node, incarnation, sequence
    HAVING uniqExact(batch_hash) > 1
)
SELECT start_ms, end_ms, toString(device) AS device_uuid, workload, allocated_ms, resident_ms, busy_ms, incarnation, sequence, row
FROM usage_raw FINAL
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC')
  AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
  AND start_ms >= {start_ms:Int64} AND start_ms < {end_ms:Int64}
  AND workload IN (SELECT toUInt128(arrayJoin({workloads:Array(String)})))
  AND device IN {devices:Array(String)}
  AND (cluster, node, incarnation, sequence, batch_hash) NOT IN losing_batches
ORDER BY start_ms, device, workload, incarnation, sequence, row
LIMIT {limit:UInt32}
