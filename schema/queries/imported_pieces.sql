-- Imported runs in some hours, cut to segments: the shared head of close_pool_usage.sql and close_pool_device.sql, and of
-- close_ledger.sql for runs whose device is named. billing::rollup is the same rule in plain Rust.
--
-- Parameters: segment_starts and segment_ends (the hours cut at every cut instant, ascending, Unix milliseconds).
WITH
-- Whose windows touch the hours, by their keys: a key's other content may end elsewhere.
touching AS
(
    SELECT cluster, job, submit_ms, start_ms, part
    FROM imported_runs
    WHERE import IN (SELECT import FROM imports)
      AND start_ms < arrayMax({segment_ends:Array(Int64)}) AND end_ms > arrayMin({segment_starts:Array(Int64)})
),
-- One content per key: of two, that with the smaller hash.
runs AS
(
    SELECT toString(cluster) AS cluster, job, submit_ms, start_ms, part,
        argMin((end_ms, toString(device), toString(node), toString(model), toString(profile), sharing, gpus, share_num, share_den, workload, pool),
            content_hash) AS run
    FROM imported_runs
    WHERE import IN (SELECT import FROM imports) AND (cluster, job, submit_ms, start_ms, part) IN touching
    GROUP BY cluster, job, submit_ms, start_ms, part
),
pieces AS
(
    SELECT cluster, run.11 AS is_pool, run.2 AS device, run.3 AS node, run.4 AS model, run.10 AS workload, run.5 AS profile, run.6 AS sharing,
        run.8 AS share_num, run.9 AS share_den,
        segment.1 AS segment_start_ms,
        segment.2 AS segment_end_ms,
        greatest(segment.1, start_ms) AS from_ms,
        least(segment.2, run.1) AS to_ms,
        (to_ms - from_ms) * toInt64(run.7) AS piece_natural_ms,
        -- A difference of cumulative floors since the run's start, so that its pieces sum to the run however it is cut.
        toInt64(
            intDiv(toInt256(to_ms - start_ms) * run.7 * run.8 * 1000000000, toInt256(run.9) * 3600000)
            - intDiv(toInt256(from_ms - start_ms) * run.7 * run.8 * 1000000000, toInt256(run.9) * 3600000)) AS piece_held_nano
    FROM runs
    ARRAY JOIN arrayZip({segment_starts:Array(Int64)}, {segment_ends:Array(Int64)}) AS segment
    WHERE from_ms < to_ms
)
