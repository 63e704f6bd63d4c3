SELECT id FROM workloads
WHERE cancel_requested_at IS NOT NULL AND ended_at IS NULL AND pool_id = $1
ORDER BY id
