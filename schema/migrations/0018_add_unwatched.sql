-- Held on a scheduler's record alone: the scheduler gave the device and no collector was there to see whether a process was
-- on it. Part of a row's key, so that time that was watched and time that was not are never one row.
ALTER TABLE usage_hourly
    ADD COLUMN IF NOT EXISTS unwatched Bool DEFAULT false CODEC(ZSTD(1))
