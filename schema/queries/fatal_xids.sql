-- XIDs of a window that end what runs on a device. Read twice, as a repeated delivery or by the pieces of a window, one counts once.
--
-- Parameters: start_ms, end_ms, numbers (NVIDIA's).
SELECT DISTINCT toString(cluster) AS cluster_name, toString(node) AS node_name, toString(device) AS device_uuid, at_ms, number
FROM xids_raw
WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC')
  AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
  AND at_ms >= {start_ms:Int64} AND at_ms < {end_ms:Int64}
  AND number IN {numbers:Array(UInt32)}
ORDER BY at_ms, cluster_name, node_name, device_uuid, number
