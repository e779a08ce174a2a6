-- Second half of the hour close: one row per device and segment.
SELECT
    toStartOfHour(fromUnixTimestamp64Milli(segment_start_ms, 'UTC')) AS hour,
    {revision:UInt64} AS revision,
    segment_start_ms, segment_end_ms, cluster, node, device, model,
    capacity_nano,
    arraySum(arraySlice(held_nano, 1, n)) AS held_sum_nano,
    held_nano[n + 1] AS free_nano,
    held_nano[n + 2] AS stranded_nano,
    held_nano[n + 3] AS unavailable_nano,
    held_nano[n + 4] AS unobserved_nano,
    arraySum(arraySlice(busy_nano, 1, n)) AS busy_sum_nano,
    busy_nano[2 * n + 1] AS ghost_nano,
    busy_nano[2 * n + 2] AS not_busy_nano,
    arraySum(arraySlice(busy_nano, n + 1, n)) + busy_nano[2 * n + 3] AS unknown_nano,
    toInt64(energy_mj) AS device_energy_mj,
    toInt64(ifNull(energy_mj, 0)) - attributed_energy_mj AS energy_unattributed_mj,
    memory_byte_ms AS device_memory_byte_ms,
    toInt128(ifNull(memory_byte_ms, 0)) - toInt128(attributed_memory_byte_ms) AS memory_unattributed_byte_ms,
    oversubscribed,
    (toStartOfHour(fromUnixTimestamp64Milli(segment_start_ms, 'UTC')), cluster, device) IN (SELECT hour, cluster, device FROM contests) AS contested
FROM ledger
