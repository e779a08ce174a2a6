-- First half of the hour close: one row per device, segment and key of the ledger.
SELECT
    toStartOfHour(fromUnixTimestamp64Milli(segment_start_ms, 'UTC')) AS hour,
    {revision:UInt64} AS revision,
    segment_start_ms, segment_end_ms, cluster, node, device, model,
    part.1 AS workload,
    part.2 AS gpu_instance,
    part.3 AS compute_instance,
    part.4 AS profile,
    part.5 AS sharing,
    part.6 AS share_num,
    part.7 AS share_den,
    part.8 AS quality,
    part.9 AS busy_kind,
    part.10 AS busy_quality,
    part.15 AS natural_ms,
    held_nano[position] AS part_held_nano,
    busy_nano[position] AS part_busy_nano,
    busy_nano[n + position] AS part_unknown_nano,
    part.16 AS part_memory_byte_ms,
    part.17 AS part_energy_mj,
    part.11 AS unwatched
FROM ledger
ARRAY JOIN parts AS part, arrayEnumerate(parts) AS position
