-- The raw slices of one workload on one device in a window, in time order: what a line of a statement opens down to.
SELECT
    start_ms, end_ms, sharing, share_num, share_den, allocated_ms, resident_ms, busy_ms, busy_kind, held_quality,
    busy_quality, unknown_reason, toString(profile) AS profile_name, incarnation, sequence, row
FROM usage_raw FINAL
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC')
  AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
  AND start_ms >= {start_ms:Int64} AND start_ms < {end_ms:Int64}
  AND workload = {workload:UInt128}
  AND device = {device:String}
ORDER BY start_ms, incarnation, sequence, row
LIMIT {limit:UInt32}
