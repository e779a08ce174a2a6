-- The content of a version of a configuration file; no row where it was never loaded.
SELECT content FROM config_versions WHERE name = {name:String} AND hash = {hash:String} LIMIT 1
