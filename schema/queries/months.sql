-- The first and last published hours of all, Unix seconds; 0 where nothing is published.
SELECT toUInt32(min(hour)) AS first_hour_s, toUInt32(max(hour)) AS last_hour_s FROM hour_pointers
