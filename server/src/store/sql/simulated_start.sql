INSERT INTO simulated_runs (run_id, workload_id, generation, hosts, started_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (run_id) DO NOTHING
