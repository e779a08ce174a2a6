-- Credentials of nodes that aren't revoked; the latest row of each counts.
SELECT credential_hash, toString(cluster) AS cluster_name, toString(node) AS node_name, backfill
FROM collectors FINAL
WHERE NOT revoked
