-- The workloads that held failed devices up to the failure: those with a slice that reaches it. A process that dies with its
-- device is missed at the next process list only, and its end is put before that, so a slice may end a little earlier.
--
-- Parameters: devices and instants (failures, side by side), slack_ms.
SELECT DISTINCT toString(device) AS device_uuid, failed.2 AS at_ms, workload
FROM usage_raw
ARRAY JOIN arrayFilter(f -> f.1 = device AND start_ms < f.2 AND end_ms >= f.2 - {slack_ms:Int64},
    arrayZip({devices:Array(String)}, {instants:Array(Int64)})) AS failed
WHERE hour IN (SELECT toDateTime(intDiv(arrayJoin(arrayConcat({instants:Array(Int64)},
        arrayMap(i -> i - {slack_ms:Int64}, {instants:Array(Int64)}))), 3600000) * 3600, 'UTC'))
  AND device IN {devices:Array(String)}
  AND workload != 1
  AND coalesce(allocated_ms, resident_ms, 0) > 0
ORDER BY at_ms, device_uuid, workload
