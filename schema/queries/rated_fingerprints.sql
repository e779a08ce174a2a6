-- What each day that starts in a window was last rated from under some rules, and under which revision; the day in Unix seconds.
SELECT toUInt32(day) AS day_s, argMax(fingerprint, revision) AS day_fingerprint, max(revision) AS day_revision
FROM rated_days
WHERE rules = {rules:String} AND day >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC') AND day < fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
GROUP BY day
ORDER BY day
