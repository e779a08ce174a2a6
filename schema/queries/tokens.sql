-- Tokens that aren't revoked; the latest row of each counts. Expiry is judged by whoever presents one.
SELECT token_hash, name, toString(role) AS role_name, tenant, backfill, expires_at_ms, changed_at_ms
FROM tokens FINAL
WHERE NOT revoked
ORDER BY changed_at_ms
