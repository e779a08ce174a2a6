-- Device time that tenants held over the days of a period, by device; '' for every tenant.
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
    toString(device) AS device_uuid,
    sum(held_nano) AS held
FROM charges
WHERE (day, revision) IN rated AND ({tenant:String} = '' OR tenant = {tenant:String})
GROUP BY tenant, device
