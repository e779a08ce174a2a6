-- Devices that failed in a window: lost to the bus, or down with their node.
--
-- A collector cuts its windows where it last read a device well, so the first window that names the failure starts at that
-- instant, a look (5 s) before it was noticed; after a reboot it starts where the last collector's windows ended. Windows
-- that follow each other without a hole are one failure. Silence alone is none: somewhere in it the device must be known to
-- have been out of use, not only unobserved. The window is read from a day before, because a failure that began earlier is
-- not one of this window.
--
-- Parameters: start_ms, end_ms, reasons (numbers of schema::wire::Reason).
WITH
losing_batches AS
(
    SELECT cluster, node, incarnation, sequence, arrayJoin(arraySlice(arraySort(groupUniqArray(batch_hash)), 2)) AS losing_hash
    FROM batches
    GROUP BY cluster, node, incarnation, sequence
    HAVING uniqExact(batch_hash) > 1
),
-- A repeated delivery is the same row twice. A reason is rare, so this reads one small column of most of the table.
failing AS
(
    SELECT DISTINCT cluster, node, device, start_ms, end_ms, reason, unavailable_ms
    FROM device_raw
    WHERE reason IN {reasons:Array(UInt8)}
      AND hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600 - 86400, 'UTC')
      AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
      AND (cluster, node, incarnation, sequence, batch_hash) NOT IN losing_batches
),
marked AS
(
    SELECT *,
        max(end_ms) OVER (PARTITION BY cluster, device ORDER BY start_ms, end_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ms,
        start_ms > reached_ms AS begins
    FROM failing
),
numbered AS
(
    SELECT *, sum(begins) OVER (PARTITION BY cluster, device ORDER BY start_ms, end_ms) AS failure
    FROM marked
)
SELECT
    toString(cluster) AS cluster_name,
    toString(argMin(node, start_ms)) AS node_name,
    toString(device) AS device_uuid,
    min(start_ms) AS at_ms,
    argMin(reason, start_ms) AS why
FROM numbered
GROUP BY cluster, device, failure
HAVING sum(unavailable_ms) > 0 AND at_ms >= {start_ms:Int64} AND at_ms < {end_ms:Int64}
ORDER BY at_ms, cluster, node_name, device
