INSERT INTO outbox (id, run_id, generation, action, body, created_at)
SELECT COALESCE(MAX(id), 0) + 1, $1, $2, $3, $4, $5 FROM outbox WHERE TRUE
ON CONFLICT (run_id, action) DO NOTHING
