SELECT
    id, pool_id, external_id, name, charged_to, submitted_by, hosts, gpus_per_host, topology, min_runtime_s,
    after_preemption, priority, then_do, fallback, grace_s, simulated_runtime_s, submitted_at, state, generation,
    starts, launch_failures, held_since, cancel_requested_at, cancel_requested_by, ended_at
FROM workloads
WHERE id < $5
    AND ($2 IS NULL OR state = $2)
    AND ($3 IS NULL OR submitted_by = $3)
    AND ($1 IS NULL OR pool_id = $1)
    AND ($4 IS NULL OR charged_to IN (SELECT value FROM json_each($4)))
ORDER BY id DESC
LIMIT $6
