UPDATE workloads
SET state = $2, starts = $3, launch_failures = $4, held_since = $5, generation = generation + 1
WHERE id = $1 AND ended_at IS NULL
