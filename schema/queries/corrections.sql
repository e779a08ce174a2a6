-- Corrections, wherever they were posted, in the order of time. Which period one corrects stands in its content.
SELECT toString(period) AS period_label, posting_id, toString(kind) AS kind_name, author, reason, content, posted_at_ms
FROM postings FINAL
WHERE kind = 'correction'
ORDER BY posted_at_ms, posting_id
