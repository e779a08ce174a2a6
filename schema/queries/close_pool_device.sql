-- Pools, second half: one row per pool and segment. A pool is what a scheduler's history held of a cluster's GPUs of one model,
-- where no device is known: its capacity is what was held of it, and nothing of it is free.
SELECT
    toStartOfHour(fromUnixTimestamp64Milli(segment_start_ms, 'UTC')) AS hour,
    {revision:UInt64} AS revision,
    segment_start_ms, segment_end_ms, cluster,
    '' AS node,
    device, model,
    sum(piece_held_nano) AS capacity_nano,
    sum(piece_held_nano) AS held_nano,
    0 AS free_nano,
    0 AS stranded_nano,
    0 AS unavailable_nano,
    0 AS unobserved_nano,
    0 AS busy_nano,
    0 AS ghost_nano,
    0 AS not_busy_nano,
    sum(piece_held_nano) AS unknown_nano,
    NULL AS energy_mj,
    0 AS energy_unattributed_mj,
    NULL AS memory_byte_ms,
    0 AS memory_unattributed_byte_ms,
    false AS oversubscribed,
    false AS contested
FROM pieces
WHERE is_pool
GROUP BY segment_start_ms, segment_end_ms, cluster, device, model
