-- A changed retention works out anew when each part of the table expires, and rewrites none of its rows. Without that, parts
-- that are there would still go as a whole at the instant that the old retention gave them.
ALTER TABLE {table:Identifier} MODIFY SETTING materialize_ttl_recalculate_only = 1
