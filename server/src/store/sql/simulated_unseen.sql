SELECT run_id, started_at, ends_at, stop_at, cause FROM simulated_runs WHERE seen = 0 ORDER BY run_id
