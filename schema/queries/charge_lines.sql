-- Sums of charges over the days of a period, by tenant and line; '' for every tenant.
WITH
rated AS
(
    SELECT day, max(revision) AS revision
    FROM rated_days
    WHERE rules = {rules:String} AND day >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC') AND day < fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    GROUP BY day
)
SELECT
    toString(tenant) AS tenant_id,
    toString(line) AS line_key,
    min(start_ms) AS first_ms,
    max(end_ms) AS last_ms,
    sum(natural_ms) AS natural,
    sum(observed_ms) AS observed,
    sum(held_nano) AS held,
    sum(charged_nano) AS charged,
    sum(busy_nano) AS busy,
    sum(unknown_nano) AS unknown,
    sum(energy_mj) AS energy,
    sum(memory_byte_ms) AS memory
FROM charges
WHERE (day, revision) IN rated AND ({tenant:String} = '' OR tenant = {tenant:String})
GROUP BY tenant, line
ORDER BY tenant, line
