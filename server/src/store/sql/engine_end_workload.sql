UPDATE workloads
SET state = $2, ended_at = $3, generation = generation + 1
WHERE id = $1 AND ended_at IS NULL
