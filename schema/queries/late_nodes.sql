-- Nodes that had a device in service before an instant and whose newest batch was made before it: rows may still come.
SELECT toString(cluster) AS cluster_name, toString(node) AS node_name
FROM
(
    SELECT cluster, node, max(created_at_ms) AS newest_ms FROM batches GROUP BY cluster, node
) AS nodes
WHERE newest_ms < {end_ms:Int64}
  AND (cluster, node) IN
  (
      SELECT cluster, node FROM devices
      WHERE first_seen_ms < {end_ms:Int64}
        AND (cluster, device) NOT IN (SELECT cluster, device FROM inventory WHERE kind = 'retire' AND at_ms <= {end_ms:Int64})
  )
ORDER BY cluster, node
