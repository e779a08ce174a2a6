-- The first instant at which any device was in service or an imported run held something, Unix milliseconds; 0 where none ever was.
SELECT min(at_ms)
FROM
(
    SELECT min(first_seen_ms) AS at_ms FROM devices HAVING count() > 0
    UNION ALL
    SELECT min(at_ms) AS at_ms FROM inventory WHERE kind = 'expect' HAVING count() > 0
    UNION ALL
    SELECT min(toInt64(arrayMin(hours)) * 1000) AS at_ms FROM imports HAVING count() > 0
)
