-- Owners of the workloads that used anything in a window; several rows of evidence may exist, the first by node is shown.
SELECT
    workload,
    any(kind) AS owner_kind,
    any(attributes) AS owner_attributes,
    argMin(evidence, (cluster, node, evidence)) AS owner_evidence
FROM owners
WHERE workload IN
(
    SELECT workload FROM usage_hourly
    WHERE hour >= toDateTime(intDiv({start_ms:Int64}, 3600000) * 3600, 'UTC') AND hour < toDateTime(intDiv({end_ms:Int64} + 3599999, 3600000) * 3600, 'UTC')
)
GROUP BY workload
ORDER BY workload
