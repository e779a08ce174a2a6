-- Pools, first half: one row per pool, segment and key. Nobody was there to see its use: it is unknown, never zero.
SELECT
    toStartOfHour(fromUnixTimestamp64Milli(segment_start_ms, 'UTC')) AS hour,
    {revision:UInt64} AS revision,
    segment_start_ms, segment_end_ms, cluster, node, device, model, workload,
    -1 AS gpu_instance,
    -1 AS compute_instance,
    profile, sharing, share_num, share_den,
    {allocated:UInt8} AS quality,
    0 AS busy_kind,
    0 AS busy_quality,
    sum(piece_natural_ms) AS natural_ms,
    sum(piece_held_nano) AS held_nano,
    0 AS busy_nano,
    sum(piece_held_nano) AS unknown_nano,
    0 AS memory_byte_ms,
    0 AS energy_mj,
    true AS unwatched
FROM pieces
WHERE is_pool
GROUP BY segment_start_ms, segment_end_ms, cluster, node, device, model, workload, profile, sharing, share_num, share_den
