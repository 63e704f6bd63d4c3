UPDATE simulated_runs SET seen = 1, ended_at = MIN(ends_at, COALESCE(stop_at, ends_at))
WHERE run_id = $1 AND MIN(ends_at, COALESCE(stop_at, ends_at)) <= $2
