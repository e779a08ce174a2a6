-- A checksum of the closed rows of a period, usage, devices and charges: counts and sums of hashes, whatever the order of rows.
SELECT ifNull(concat(toString(usage_rows), ':', toString(usage_sum), ' ', toString(device_rows), ':', toString(device_sum), ' ', toString(charge_rows), ':', toString(charge_sum)), '') AS checksum
FROM
(
    SELECT count() AS usage_rows, sum(cityHash64(* EXCEPT (period, attempt))) AS usage_sum
    FROM usage_closed
    WHERE period = {period:String} AND attempt = {attempt:UInt64}
) AS usage
CROSS JOIN
(
    SELECT count() AS device_rows, sum(cityHash64(* EXCEPT (period, attempt))) AS device_sum
    FROM device_closed
    WHERE period = {period:String} AND attempt = {attempt:UInt64}
) AS devices
CROSS JOIN
(
    SELECT count() AS charge_rows, sum(cityHash64(* EXCEPT (period, attempt))) AS charge_sum
    FROM charges_closed
    WHERE period = {period:String} AND attempt = {attempt:UInt64}
) AS charges
