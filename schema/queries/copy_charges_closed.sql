-- Copies the charges of a period's days under an attempt to close it.
--
-- Parameters: days and day_revisions, side by side: the ratings that the period's bill was made of.
INSERT INTO charges_closed
SELECT {period:String} AS period, {attempt:UInt64} AS attempt, charges.*
FROM charges
WHERE (toUInt32(day), revision) IN (SELECT arrayJoin(arrayZip({days:Array(UInt32)}, {day_revisions:Array(UInt64)})) AS pair)
