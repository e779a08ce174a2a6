-- What a revision of a day says was held, by its charges and by its devices: one must be the other before it is published. A
-- subquery's value may be NULL to ClickHouse, though a sum never is.
SELECT
    ifNull((SELECT sum(held_nano) FROM charges WHERE day = toDateTime({day_s:UInt32}, 'UTC') AND revision = {revision:UInt64}), 0) AS by_charges,
    ifNull((SELECT sum(held_nano) FROM device_days WHERE day = toDateTime({day_s:UInt32}, 'UTC') AND revision = {revision:UInt64}), 0) AS by_devices
