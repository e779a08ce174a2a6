-- Copies the charges of a period's days, as some rules rated them last, under an attempt to close it.
INSERT INTO charges_closed
SELECT {period:String} AS period, {attempt:UInt64} AS attempt, charges.*
FROM charges
WHERE (day, revision) IN
(
    SELECT day, max(revision) AS revision
    FROM rated_days
    WHERE rules = {rules:String} AND day >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC') AND day < fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY day
)
