-- Host memory that some workloads held in a window, near and far, byte-milliseconds. Of a batch that came with two contents
-- only the one that counts is taken.
--
-- Parameters: start_ms, end_ms, workloads (decimal texts).
WITH
losing_batches AS
(
    SELECT cluster, node, incarnation, sequence, arrayJoin(arraySlice(arraySort(groupUniqArray(batch_hash)), 2)) AS losing_hash
    FROM batches
    GROUP BY cluster, node, incarnation, sequence
    HAVING uniqExact(batch_hash) > 1
)
SELECT workload, sum(toUInt128(near_byte_ms)) AS near, sum(toUInt128(far_byte_ms)) AS far
FROM host_memory_raw FINAL
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC')
  AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
  AND start_ms >= {start_ms:Int64} AND start_ms < {end_ms:Int64}
  AND workload IN (SELECT toUInt128(arrayJoin({workloads:Array(String)})))
  AND (cluster, node, incarnation, sequence, batch_hash) NOT IN losing_batches
GROUP BY workload
ORDER BY workload
