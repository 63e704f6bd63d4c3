UPDATE simulated_runs
SET stop_at = $3, cause = $4
WHERE run_id = $1 AND generation = $2 AND stop_at IS NULL AND seen = 0
