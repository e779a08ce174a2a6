-- Partitions of charges and device_days that no reader can see any more.
--
-- Kept is the newest revision of each day under the rules in force, and under any others for an hour. What isn't kept goes
-- when a newer revision of its day was published long enough ago for every reader of it to have ended, or an hour after it
-- was written. Parameters: rules (in force), before_ms.
WITH
newest AS
(
    SELECT rules, toUInt32(day) AS day_s, max(revision) AS day_revision, max(rated_at_ms) AS at_ms
    FROM rated_days
    GROUP BY rules, day
),
parts AS
(
    SELECT table, partition_id,
        toUInt32OrZero(splitByChar('-', partition_id)[1]) AS day_s,
        toUInt64OrZero(splitByChar('-', partition_id)[2]) AS part_revision,
        toInt64(toUnixTimestamp(max(modification_time))) * 1000 AS written_ms
    FROM system.parts
    WHERE database = currentDatabase() AND table IN ('charges', 'device_days') AND active
    GROUP BY table, partition_id
),
published AS
(
    SELECT day_s, max(day_revision) AS last_revision FROM newest WHERE at_ms < {before_ms:Int64} GROUP BY day_s
)
SELECT table, partition_id
FROM parts
LEFT JOIN published ON published.day_s = parts.day_s
WHERE written_ms < {before_ms:Int64}
  AND (parts.day_s, part_revision) NOT IN
      (SELECT day_s, day_revision FROM newest WHERE rules = {rules:String} OR at_ms > {before_ms:Int64} - 3600000)
  AND (part_revision < published.last_revision OR written_ms < {before_ms:Int64} - 3600000)
