-- Rows that ingest refused in a window.
SELECT count() AS refused FROM dead_letters FINAL WHERE received_at_ms >= {start_ms:Int64} AND received_at_ms < {end_ms:Int64}
