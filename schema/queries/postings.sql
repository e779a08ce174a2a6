-- What was posted to some periods, in the order of time.
SELECT toString(period) AS period_label, posting_id, toString(kind) AS kind_name, author, reason, content, posted_at_ms
FROM postings FINAL
WHERE period IN {periods:Array(String)}
ORDER BY posted_at_ms, posting_id
