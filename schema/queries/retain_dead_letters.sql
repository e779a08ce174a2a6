-- Refused rows live so many months after they were received: the hour that they claim to be of may be why they were refused.
ALTER TABLE dead_letters
    MODIFY TTL toDateTime(fromUnixTimestamp64Milli(received_at_ms, 'UTC')) + toIntervalMonth({months:UInt16}) DELETE
