-- The ledger of one or several whole hours, after imported_pieces.sql: the shared head of close_usage.sql and close_device.sql,
-- which append its two halves. docs/decisions/0001-hour-close.md is the rule; billing::rollup is the same rule in plain Rust.
--
-- Parameters: hours (starts, Unix seconds), segment_starts and segment_ends (the hours cut at every cut instant, ascending,
-- Unix milliseconds), revision, allocated (the quality of a scheduler's record). Device time is in units of 1e-27 GPU-hours in
-- Int256 until it is apportioned.
,
-- The same (cluster, node, incarnation, sequence) with two contents: the smaller hash counts, these don't.
losing_batches AS
(
    SELECT cluster, node, incarnation, sequence, arrayJoin(arraySlice(arraySort(groupUniqArray(batch_hash)), 2)) AS losing_hash
    FROM batches
    WHERE (cluster, node, incarnation, sequence) IN
    (
        SELECT cluster, node, incarnation, sequence
        FROM batches
        WHERE first_hour <= arrayMax({hours:Array(UInt32)}) AND last_hour >= arrayMin({hours:Array(UInt32)})
    )
    GROUP BY cluster, node, incarnation, sequence
    HAVING uniqExact(batch_hash) > 1
),
windows AS
(
    SELECT *
    FROM device_raw FINAL
    WHERE hour IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))
      AND (cluster, node, incarnation, sequence, batch_hash) NOT IN losing_batches
),
-- Where windows of several incarnations overlap on one device, the one that observed more of the hour counts, ties by the
-- smaller incarnation: taken best first, one that overlaps one already taken is refused.
reporters AS
(
    SELECT hour, cluster, device, incarnation,
        toInt64(sum(observed_ms)) AS reporter_observed_ms,
        groupArray((start_ms, end_ms)) AS reported
    FROM windows
    GROUP BY hour, cluster, device, incarnation
),
contests AS
(
    SELECT hour, cluster, device,
        arraySort(r -> (-r.1, r.2), groupArray((reporter_observed_ms, incarnation, reported))) AS ranked,
        arrayFold(
            (taken, r) -> if(
                arrayExists(t -> arrayExists(a -> arrayExists(b -> a.1 < b.2 AND b.1 < a.2, t.3), r.3), taken),
                taken,
                arrayPushBack(taken, r)),
            ranked,
            CAST([], 'Array(Tuple(Int64, UInt128, Array(Tuple(Int64, Int64))))')) AS taken
    FROM reporters
    GROUP BY hour, cluster, device
    HAVING count() > 1 AND length(taken) < length(ranked)
),
losing_reporters AS
(
    SELECT hour, cluster, device,
        arrayJoin(arrayFilter(i -> NOT has(arrayMap(t -> t.2, taken), i), arrayMap(r -> r.2, ranked))) AS incarnation
    FROM contests
),
-- Every device in service, with the instants between which it counts. A device is in service from its first sight, or from
-- when it was expected, until it is retired.
sightings AS
(
    SELECT cluster, device, max(devices.model) AS seen_model,
        min(first_seen_ms) AS seen_from_ms,
        arraySort(groupArray((first_seen_ms, toString(node)))) AS nodes
    FROM (SELECT cluster, device, node, max(model) AS model, min(first_seen_ms) AS first_seen_ms FROM devices GROUP BY cluster, device, node) AS devices
    GROUP BY cluster, device
),
statements AS
(
    SELECT cluster, device,
        argMaxIf(at_ms, recorded_at_ms, kind = 'expect') AS expected_ms,
        argMaxIf(toString(node), recorded_at_ms, kind = 'expect') AS expected_node,
        argMaxIf(toString(model), recorded_at_ms, kind = 'expect') AS expected_model,
        argMaxIf(at_ms, recorded_at_ms, kind = 'retire') AS retired_ms
    FROM inventory
    GROUP BY cluster, device
),
service AS
(
    SELECT toString(cluster) AS cluster, device,
        if(seen_model != '', seen_model, expected_model) AS model,
        if(empty(nodes), [(toInt64(0), expected_node)], nodes) AS nodes,
        multiIf(seen_from_ms = 0, expected_ms, expected_ms = 0, seen_from_ms, least(seen_from_ms, expected_ms)) AS in_ms,
        if(retired_ms = 0, 9223372036854775807, retired_ms) AS out_ms
    FROM sightings FULL OUTER JOIN statements USING (cluster, device)
    WHERE in_ms > 0
),
-- One row per device and segment in which it is in service: what everything below must sum to.
spans AS
(
    SELECT cluster, device, model,
        segment.1 AS segment_start_ms,
        segment.2 AS segment_end_ms,
        coalesce(nullIf(arrayLast(n -> n.1 < segment.2, nodes).2, ''), nodes[1].2) AS node,
        greatest(segment.1, in_ms) AS from_ms,
        least(segment.2, out_ms) AS to_ms,
        -- A difference of cumulative floors, so that the parts of a cut hour sum to one GPU-hour.
        toInt64(intDiv(toInt128(to_ms) * 1000000000, 3600000) - intDiv(toInt128(from_ms) * 1000000000, 3600000)) AS capacity_nano,
        intDiv(toInt256(to_ms - from_ms) * toInt256('1000000000000000000000000000'), 3600000) AS span
    FROM service
    ARRAY JOIN arrayZip({segment_starts:Array(Int64)}, {segment_ends:Array(Int64)}) AS segment
    WHERE from_ms < to_ms
),
-- What was read of each device. Stranded time is summed per denominator before it is divided.
observed AS
(
    SELECT cluster, device, segment_start_ms,
        intDiv(toInt256(sum(window_observed_ms)) * toInt256('1000000000000000000000000000'), 3600000) AS observed,
        intDiv(toInt256(sum(window_unavailable_ms)) * toInt256('1000000000000000000000000000'), 3600000) AS unavailable,
        intDiv(toInt256(sum(window_free_unknown_ms)) * toInt256('1000000000000000000000000000'), 3600000) AS free_unknown,
        sum(intDiv(toInt256(stranded_parts_ms) * toInt256('1000000000000000000000000000'), toInt256(stranded_den) * 3600000)) AS stranded,
        sum(window_energy_mj) AS energy_mj,
        sum(window_memory_byte_ms) AS memory_byte_ms,
        max(window_oversubscribed) AS oversubscribed
    FROM
    (
        SELECT toString(cluster) AS cluster, toString(device) AS device, stranded_den,
            arrayLast(s -> s <= start_ms, {segment_starts:Array(Int64)}) AS segment_start_ms,
            sum(observed_ms) AS window_observed_ms,
            sum(unavailable_ms) AS window_unavailable_ms,
            sum(windows.free_unknown_ms) AS window_free_unknown_ms,
            sum(toUInt128(observed_ms) * stranded_num) AS stranded_parts_ms,
            sum(windows.energy_mj) AS window_energy_mj,
            sum(toUInt128(windows.memory_byte_ms)) AS window_memory_byte_ms,
            max(windows.oversubscribed) AS window_oversubscribed
        FROM windows
        WHERE (hour, cluster, device, incarnation) NOT IN losing_reporters
        GROUP BY cluster, device, stranded_den, segment_start_ms
    )
    GROUP BY cluster, device, segment_start_ms
),
slices AS
(
    SELECT *,
        arrayLast(s -> s <= start_ms, {segment_starts:Array(Int64)}) AS segment_start_ms,
        coalesce(allocated_ms, resident_ms, 0) AS slice_held_ms,
        coalesce(resident_ms, allocated_ms, 0) AS slice_resident_ms,
        -- A scheduler gave it, and nobody was there to see whether a process was on it.
        resident_ms IS NULL AND ifNull(allocated_ms, 0) > 0 AS unwatched
    FROM usage_raw FINAL
    WHERE hour IN (SELECT toDateTime(arrayJoin({hours:Array(UInt32)}), 'UTC'))
      AND (cluster, node, incarnation, sequence, batch_hash) NOT IN losing_batches
      AND (hour, cluster, device, incarnation) NOT IN losing_reporters
),
-- What a scheduler's history held of devices before they were metered: it counts as observed, as a gap does that a scheduler's
-- record covers. Rounded up, so that it is never less than what the workloads below hold of it.
history AS
(
    SELECT cluster, device, segment_start_ms,
        sum(intDiv(
            toInt256(piece_natural_ms) * share_num * toInt256('1000000000000000000000000000') + toInt256(share_den) * 3600000 - 1,
            toInt256(share_den) * 3600000)) AS recorded
    FROM pieces
    WHERE NOT is_pool
    GROUP BY cluster, device, segment_start_ms
),
-- What each workload held and used, per key of the ledger; the share is part of the key, weights are summed per
-- denominator. Ghost use (workload 1) holds nothing, and its memory and energy stay unattributed.
workloads AS
(
    SELECT cluster, device, segment_start_ms,
        workload, gpu_instance, compute_instance, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched,
        toInt64(sum(held_ms)) AS natural_ms,
        if(workload = 1, 0, intDiv(toInt256(sum(held_ms)) * share_num * toInt256('1000000000000000000000000000'), toInt256(share_den) * 3600000)) AS held,
        sum(intDiv(toInt256(busy_parts_ms) * toInt256('1000000000000000000000000000'), toInt256(weight_den) * 3600000)) AS busy,
        sum(intDiv(toInt256(unknown_parts_ms) * toInt256('1000000000000000000000000000'), toInt256(weight_den) * 3600000)) AS unknown,
        sum(key_memory_byte_ms) AS memory_byte_ms,
        toInt64(sum(key_energy_mj)) AS energy_mj
    FROM
    (
        SELECT toString(cluster) AS cluster, toString(device) AS device, segment_start_ms,
            workload, gpu_instance, compute_instance, toString(profile) AS profile, sharing, share_num, share_den,
            held_quality AS quality, busy_kind, busy_quality, unwatched, weight_den,
            sum(slice_held_ms) AS held_ms,
            sum(if(busy_ms IS NULL, 0, toUInt128(assumeNotNull(busy_ms)) * weight_num)) AS busy_parts_ms,
            sum(if(busy_ms IS NULL, toUInt128(slice_resident_ms) * weight_num, 0)) AS unknown_parts_ms,
            sum(toUInt128(ifNull(slices.memory_byte_ms, 0))) AS key_memory_byte_ms,
            sum(ifNull(slices.energy_mj, 0)) AS key_energy_mj
        FROM slices
        GROUP BY cluster, device, segment_start_ms, workload, gpu_instance, compute_instance, profile, sharing, share_num,
            share_den, quality, busy_kind, busy_quality, unwatched, weight_den
        UNION ALL
        SELECT cluster, device, segment_start_ms,
            workload, -1 AS gpu_instance, -1 AS compute_instance, profile, sharing, share_num, share_den,
            {allocated:UInt8} AS quality, 0 AS busy_kind, 0 AS busy_quality, true AS unwatched, share_den AS weight_den,
            toUInt64(piece_natural_ms) AS held_ms,
            toUInt128(0) AS busy_parts_ms,
            toUInt128(piece_natural_ms) * share_num AS unknown_parts_ms,
            toUInt128(0) AS key_memory_byte_ms,
            toUInt64(0) AS key_energy_mj
        FROM pieces
        WHERE NOT is_pool
    )
    GROUP BY cluster, device, segment_start_ms, workload, gpu_instance, compute_instance, profile, sharing, share_num,
        share_den, quality, busy_kind, busy_quality, unwatched
),
-- All keys of a device and segment side by side, in the order that breaks ties.
keys AS
(
    SELECT cluster, device, segment_start_ms,
        arraySort(groupArrayIf(
            (workload, gpu_instance, compute_instance, profile, sharing, share_num, share_den, quality, busy_kind, busy_quality, unwatched,
             held, busy, unknown, natural_ms, memory_byte_ms, energy_mj),
            workload != 1)) AS parts,
        sumIf(busy, workload = 1) AS ghost,
        sumIf(memory_byte_ms, workload != 1) AS attributed_memory_byte_ms,
        sumIf(energy_mj, workload != 1) AS attributed_energy_mj
    FROM workloads
    GROUP BY cluster, device, segment_start_ms
),
-- The two ledgers in exact fractions. Where a collector claimed more than the device (it should not), claims are scaled down
-- to what was observed and the row is marked.
exact AS
(
    SELECT cluster, device, segment_start_ms, segment_end_ms, node, model, capacity_nano, span,
        keys.parts AS parts,
        least(observed.observed + history.recorded, span) AS seen,
        least(observed.unavailable, span - seen) AS unavailable,
        least(observed.stranded, seen) AS stranded,
        arraySum(p -> p.12, parts) AS claimed_held,
        arraySum(p -> p.13, parts) + keys.ghost AS claimed_busy,
        arraySum(p -> p.14, parts) + observed.free_unknown AS claimed_unknown,
        seen - stranded AS holdable,
        claimed_held > holdable AS held_over,
        claimed_busy + claimed_unknown > seen AS busy_over,
        arrayMap(p -> if(held_over, intDiv(p.12 * holdable, claimed_held), p.12), parts) AS held,
        arrayMap(p -> if(busy_over, intDiv(p.13 * seen, claimed_busy + claimed_unknown), p.13), parts) AS busy,
        arrayMap(p -> if(busy_over, intDiv(p.14 * seen, claimed_busy + claimed_unknown), p.14), parts) AS unknown,
        if(busy_over, intDiv(keys.ghost * seen, claimed_busy + claimed_unknown), keys.ghost) AS ghost,
        if(busy_over, intDiv(observed.free_unknown * seen, claimed_busy + claimed_unknown), observed.free_unknown) AS free_unknown,
        observed.energy_mj AS energy_mj,
        observed.memory_byte_ms AS memory_byte_ms,
        keys.attributed_energy_mj AS attributed_energy_mj,
        keys.attributed_memory_byte_ms AS attributed_memory_byte_ms,
        observed.oversubscribed OR held_over OR busy_over AS oversubscribed
    FROM spans
    LEFT JOIN observed USING (cluster, device, segment_start_ms)
    LEFT JOIN history USING (cluster, device, segment_start_ms)
    LEFT JOIN keys USING (cluster, device, segment_start_ms)
),
-- Held ledger: workloads, free, stranded, unavailable, unobserved share the capacity out. Whole nano-GPU-hours first, then
-- one unit each to the largest remainders, ties to the earlier part.
held_ledger AS
(
    SELECT *,
        arrayConcat(held, [seen - stranded - arraySum(held), stranded, unavailable, span - seen - unavailable]) AS held_exact,
        arrayMap(e -> toInt64(intDiv(e, toInt256('1000000000000000000'))), held_exact) AS held_floor,
        arrayMap((e, f) -> toInt64(e - f * toInt256('1000000000000000000')), held_exact, held_floor) AS held_remainder,
        arraySort(i -> (-held_remainder[i], i), arrayEnumerate(held_remainder)) AS held_order,
        capacity_nano - arraySum(held_floor) AS held_left,
        arrayMap((f, i) -> f + (indexOf(held_order, i) <= held_left), held_floor, arrayEnumerate(held_floor)) AS held_nano
    FROM exact
),
-- Busy ledger: workloads' busy, workloads' unknown, ghost, not busy, unknown on a free device share out the observed time as
-- the held ledger apportioned it. Where the whole units already exceed that by one (unavailable and unobserved both took a
-- unit), it goes back from the smallest remainder among parts that have one.
ledger AS
(
    SELECT *,
        length(parts) AS n,
        capacity_nano - held_nano[n + 3] - held_nano[n + 4] AS seen_nano,
        arrayConcat(busy, unknown, [ghost, seen - arraySum(busy) - arraySum(unknown) - ghost - free_unknown, free_unknown]) AS busy_exact,
        arrayMap(e -> toInt64(intDiv(e, toInt256('1000000000000000000'))), busy_exact) AS busy_floor,
        arrayMap((e, f) -> toInt64(e - f * toInt256('1000000000000000000')), busy_exact, busy_floor) AS busy_remainder,
        arraySort(i -> (-busy_remainder[i], i), arrayEnumerate(busy_remainder)) AS busy_order,
        seen_nano - arraySum(busy_floor) AS busy_left,
        if(busy_left < 0, arrayLast(i -> busy_floor[i] > 0, busy_order), 0) AS busy_gives,
        arrayMap((f, i) -> f + (indexOf(busy_order, i) <= busy_left) - (i = busy_gives), busy_floor, arrayEnumerate(busy_floor)) AS busy_nano
    FROM held_ledger
)
