-- How a period was closed: the first attempt that was named; no row where it isn't closed.
SELECT attempt, manifest_id, manifest, author, closed_at_ms
FROM period_closings
WHERE period = {period:String}
ORDER BY closed_at_ms, attempt
LIMIT 1
