-- The number of a version of a configuration file, from 1 in the order of loading; 0 where it was never loaded.
SELECT countIf(loaded_at_ms <= latest) AS number
FROM config_versions
CROSS JOIN
(
    SELECT max(loaded_at_ms) AS latest FROM config_versions WHERE name = {name:String} AND hash = {hash:String}
) AS wanted
WHERE name = {name:String}
