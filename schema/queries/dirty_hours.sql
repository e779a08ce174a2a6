-- Hours whose published revision doesn't fit what is there now, oldest first.
--
-- The fingerprint of an hour is a sum of hashes over the batches that touch it, the imports that do, the devices in service in
-- it and the cut instants inside it. It is taken before the hour is rolled up, and a batch's row is written after its rows (an
-- import's too): whatever is missed by the roll-up changes the fingerprint afterwards, so no row can be lost between the two.
--
-- Parameters: from_s and to_s (Unix seconds of whole hours, half-open), since_ms (only hours touched by batches or imports
-- received since; 0 for all), cuts (Unix milliseconds).
WITH
candidates AS
(
    SELECT toDateTime(arrayJoin(range({from_s:UInt32}, {to_s:UInt32}, 3600)), 'UTC') AS hour
),
touched AS
(
    SELECT
        arrayJoin(arrayMap(s -> toDateTime(s, 'UTC'), range(toUInt32(from_hour), toUInt32(to_hour) + 1, 3600))) AS hour,
        sum(batch_print) AS batches_print,
        max(received) AS received_ms
    FROM
    (
        SELECT min(first_hour) AS from_hour, max(last_hour) AS to_hour, max(received_at_ms) AS received,
            cityHash64(cluster, node, incarnation, sequence, batch_hash) AS batch_print
        FROM batches
        WHERE last_hour >= toDateTime({from_s:UInt32}, 'UTC') AND first_hour < toDateTime({to_s:UInt32}, 'UTC')
        GROUP BY cluster, node, incarnation, sequence, batch_hash
    )
    GROUP BY hour
),
imported AS
(
    SELECT toDateTime(hour_s, 'UTC') AS hour, sum(import_print) AS imports_print, max(imported) AS received_ms
    FROM
    (
        SELECT arrayJoin(any(hours)) AS hour_s, max(imported_at_ms) AS imported, cityHash64(import) AS import_print
        FROM imports
        GROUP BY import
    )
    GROUP BY hour
),
sightings AS
(
    SELECT cluster, device, min(first_seen_ms) AS seen_from_ms FROM devices GROUP BY cluster, device
),
statements AS
(
    SELECT cluster, device,
        argMaxIf(at_ms, recorded_at_ms, kind = 'expect') AS expected_ms,
        argMaxIf(at_ms, recorded_at_ms, kind = 'retire') AS retired_ms
    FROM inventory
    GROUP BY cluster, device
),
in_service AS
(
    SELECT candidate AS hour,
        sum(cityHash64(cluster, device, greatest(in_ms, hour_ms), least(out_ms, hour_ms + 3600000))) AS devices_print
    FROM
    (
        SELECT toString(cluster) AS cluster, device,
            multiIf(seen_from_ms = 0, expected_ms, expected_ms = 0, seen_from_ms, least(seen_from_ms, expected_ms)) AS in_ms,
            if(retired_ms = 0, 9223372036854775807, retired_ms) AS out_ms
        FROM sightings FULL OUTER JOIN statements USING (cluster, device)
        WHERE in_ms > 0
    )
    ARRAY JOIN (SELECT groupArray(candidates.hour) FROM candidates) AS candidate
    WHERE in_ms < (toInt64(toUInt32(candidate)) * 1000 AS hour_ms) + 3600000 AND out_ms > hour_ms
    GROUP BY hour
),
published AS
(
    SELECT hour, argMax(fingerprint, revision) AS published_print, count() AS published_count
    FROM hour_pointers
    GROUP BY hour
)
SELECT
    toUInt32(candidates.hour) AS hour_s,
    bitXor(touched.batches_print + imported.imports_print + in_service.devices_print,
        cityHash64(arrayFilter(c -> c > toInt64(hour_s) * 1000 AND c < toInt64(hour_s) * 1000 + 3600000, {cuts:Array(Int64)}))) AS fingerprint,
    in_service.devices_print != 0 AS has_devices,
    imported.imports_print != 0 AS has_imports
FROM candidates
LEFT JOIN touched ON touched.hour = candidates.hour
LEFT JOIN imported ON imported.hour = candidates.hour
LEFT JOIN in_service ON in_service.hour = candidates.hour
LEFT JOIN published ON published.hour = candidates.hour
WHERE (in_service.devices_print != 0 OR imported.imports_print != 0)
  AND (published.published_count = 0 OR published.published_print != fingerprint)
  AND (greatest(touched.received_ms, imported.received_ms) >= {since_ms:Int64} OR {since_ms:Int64} = 0)
ORDER BY hour_s
