-- The content of the version of a configuration file that was loaded last.
SELECT content FROM config_versions WHERE name = {name:String} ORDER BY loaded_at_ms DESC LIMIT 1
