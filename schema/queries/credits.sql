-- Approved credits for lost work, wherever they were posted: a proposal is posted once, whatever the period.
SELECT toString(period) AS period_label, posting_id, toString(kind) AS kind_name, author, reason, content, posted_at_ms
FROM postings FINAL
WHERE kind = 'lost-work'
ORDER BY posted_at_ms, posting_id
