-- A run that was killed ran until then; one that ended by itself, until its end.
SELECT COALESCE(SUM(MIN(ends_at, COALESCE(stop_at, ends_at)) - started_at), 0)
FROM simulated_runs
WHERE workload_id = $1
