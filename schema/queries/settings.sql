-- The values of the settings that the service relies on, as this connection has them.
SELECT name, value FROM system.settings WHERE name IN {names:Array(String)} ORDER BY name
