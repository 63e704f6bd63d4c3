SELECT
    runs.id, runs.workload_id, runs.number, runs.hosts, runs.allocated, runs.waits_for, runs.decided_at,
    runs.assigned_at, runs.running_at, runs.protected_until, runs.charged_until, runs.stop_decided_at, runs.stop_by,
    runs.stop_cause
FROM runs
JOIN workloads ON workloads.id = runs.workload_id
WHERE runs.ended_at IS NULL AND workloads.pool_id = $1
ORDER BY runs.id
