-- What a revision of a day says was held, by its charges and by its devices: one must be the other before it is published.
SELECT
    (SELECT sum(held_nano) FROM charges WHERE day = toDateTime({day_s:UInt32}, 'UTC') AND revision = {revision:UInt64}) AS by_charges,
    (SELECT sum(held_nano) FROM device_days WHERE day = toDateTime({day_s:UInt32}, 'UTC') AND revision = {revision:UInt64}) AS by_devices
