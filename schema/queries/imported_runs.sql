-- Runs of some clusters that are imported already and touch a window. Parameters: clusters, start_ms, end_ms.
SELECT toString(cluster) AS cluster_name, job, submit_ms, start_ms, part, end_ms, content_hash
FROM imported_runs
WHERE import IN (SELECT import FROM imports)
  AND cluster IN {clusters:Array(String)}
  AND start_ms < {end_ms:Int64} AND end_ms > {start_ms:Int64}
GROUP BY cluster, job, submit_ms, start_ms, part, end_ms, content_hash
