-- Raw rows of a table live so many months after the hour that they are of.
ALTER TABLE {table:Identifier} MODIFY TTL hour + toIntervalMonth({months:UInt16}) DELETE
