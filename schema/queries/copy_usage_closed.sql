-- Copies the usage ledger's published hours of a period under an attempt to close it. Parameters as in day_usage.sql.
INSERT INTO usage_closed
SELECT {period:String} AS period, {attempt:UInt64} AS attempt, usage_hourly.*
FROM usage_hourly
WHERE (toUInt32(hour), revision) IN (SELECT arrayJoin(arrayZip({hours:Array(UInt32)}, {hour_revisions:Array(UInt64)})) AS pair)
  AND segment_start_ms >= {start_ms:Int64} AND segment_start_ms < {end_ms:Int64}
